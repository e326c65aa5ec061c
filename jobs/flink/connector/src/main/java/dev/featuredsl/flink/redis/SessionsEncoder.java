package dev.featuredsl.flink.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/**
 * Rows {@code (k STRING, first_us BIGINT, last_us BIGINT, n BIGINT, content BYTES)} to records of a field of a hash: last
 * event, first event, row count, the length of the content (uint32), the content.
 */
final class SessionsEncoder implements RowEncoder {
    private static final long serialVersionUID = 1L;
    private static final int COLUMNS = 5;
    private static final int HEAD_SIZE = 28;

    private final SinkConfig config;
    private final KeyBytes keys;

    SessionsEncoder(SinkConfig config, List<LogicalType> types) {
        this.config = config;
        this.keys = new KeyBytes(config.keyPrefix, 'X');
        SinkConfig.check(types.size() == COLUMNS
                        && types.get(0).getTypeRoot() == LogicalTypeRoot.VARCHAR
                        && types.subList(1, COLUMNS - 1).stream().allMatch(t -> t.getTypeRoot() == LogicalTypeRoot.BIGINT)
                        && types.get(COLUMNS - 1).getTypeRoot() == LogicalTypeRoot.VARBINARY,
                "mode 'sessions' wants columns (k STRING, first_us BIGINT, last_us BIGINT, n BIGINT, content BYTES), not " + types);
    }

    @Override
    public Write encode(RowData row) {
        for (int i = 0; i < COLUMNS; i++) {
            if (row.isNullAt(i)) {
                return null;
            }
        }
        long first = row.getLong(1);
        long last = row.getLong(2);
        long rows = row.getLong(3);
        byte[] content = row.getBinary(4);
        ByteBuffer record = ByteBuffer.allocate(HEAD_SIZE + content.length);
        record.putLong(last).putLong(first).putLong(rows).putInt(content.length).put(content);
        return new TileWrite(keys.of(row.getString(0)), last, first, 0, rows, record.array());
    }

    @Override
    public String script() {
        return "sessions";
    }

    @Override
    public byte[][] commonArguments() {
        return new byte[][] {
            config.fieldPrefix.getBytes(StandardCharsets.UTF_8),
            Ascii.bytes(config.slots),
            Ascii.bytes(config.hopMicros),
            Ascii.bytes(config.expireAfterMicros)
        };
    }
}
