package dev.featuredsl.flink.redis;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/** Rows {@code (k STRING, ts BIGINT, f... STRING)} to ranked hash fields; {@code ts} (microseconds) sets the expiry. */
final class FieldsEncoder implements RowEncoder {
    private static final long serialVersionUID = 1L;
    private static final int FIRST = 2;
    private static final byte[] NOTHING = {};

    private final SinkConfig config;
    private final KeyBytes keys;

    FieldsEncoder(SinkConfig config, List<LogicalType> types) {
        this.config = config;
        this.keys = new KeyBytes(config.keyPrefix, 'X');
        boolean right = types.size() > FIRST
                && types.get(0).getTypeRoot() == LogicalTypeRoot.VARCHAR
                && types.get(1).getTypeRoot() == LogicalTypeRoot.BIGINT
                && types.subList(FIRST, types.size()).stream().allMatch(t -> t.getTypeRoot() == LogicalTypeRoot.VARCHAR);
        SinkConfig.check(right, "mode 'fields' wants columns (k STRING, ts BIGINT, f STRING, ...), not " + types);
        SinkConfig.check(config.fields.size() == types.size() - FIRST,
                "fields names " + config.fields.size() + " hash fields for " + (types.size() - FIRST) + " value columns");
    }

    @Override
    public Write encode(RowData row) {
        if (row.isNullAt(0) || row.isNullAt(1)) {
            return null;
        }
        byte[][] values = new byte[config.fields.size()][];
        boolean any = false;
        for (int i = 0; i < values.length; i++) {
            values[i] = row.isNullAt(FIRST + i) ? NOTHING : row.getString(FIRST + i).toBytes();
            any |= values[i].length > 0;
        }
        return any ? new FieldsWrite(keys.of(row.getString(0)), row.getLong(1), expiresMillis(row.getLong(1)), values) : null;
    }

    private long expiresMillis(long tsMicros) {
        long keep = config.expireAfterMicros;
        return keep == 0 ? 0 : -Math.floorDiv(-(tsMicros + keep), 1_000L);
    }

    @Override
    public String script() {
        return "fields";
    }

    @Override
    public byte[][] commonArguments() {
        byte[][] out = new byte[config.fields.size() + 1][];
        out[0] = Ascii.bytes(config.fields.size());
        for (int i = 1; i < out.length; i++) {
            out[i] = config.fields.get(i - 1).getBytes(StandardCharsets.UTF_8);
        }
        return out;
    }
}
