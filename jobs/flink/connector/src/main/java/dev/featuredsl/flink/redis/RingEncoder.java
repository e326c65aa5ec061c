package dev.featuredsl.flink.redis;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/**
 * Rows {@code (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, c... BIGINT|DOUBLE)} to slots: tile, row count, high-water mark,
 * null bitmap, then 8 bytes per column, all big-endian.
 */
final class RingEncoder implements RowEncoder {
    private static final long serialVersionUID = 1L;
    private static final int FIRST = 4;
    private static final int PREFIX_SIZE = 32;

    private final SinkConfig config;
    private final KeyBytes keys;
    private final boolean[] isDouble;

    RingEncoder(SinkConfig config, List<LogicalType> types) {
        this.config = config;
        this.keys = new KeyBytes(config.keyPrefix, 'R');
        SinkConfig.check(types.size() > FIRST - 1
                        && types.get(0).getTypeRoot() == LogicalTypeRoot.VARCHAR
                        && types.subList(1, FIRST).stream().allMatch(t -> t.getTypeRoot() == LogicalTypeRoot.BIGINT),
                "mode 'ring' wants columns (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, ...), not " + types);
        isDouble = new boolean[types.size() - FIRST];
        for (int i = 0; i < isDouble.length; i++) {
            LogicalTypeRoot root = types.get(FIRST + i).getTypeRoot();
            SinkConfig.check(root == LogicalTypeRoot.BIGINT || root == LogicalTypeRoot.DOUBLE,
                    "mode 'ring': a value column is BIGINT or DOUBLE, not " + types.get(FIRST + i));
            isDouble[i] = root == LogicalTypeRoot.DOUBLE;
        }
        SinkConfig.check(config.slotSize == PREFIX_SIZE + 8 * isDouble.length && isDouble.length <= Long.SIZE,
                "slot-size is " + config.slotSize + ", " + isDouble.length + " value columns need "
                        + (PREFIX_SIZE + 8 * isDouble.length));
    }

    @Override
    public Write encode(RowData row) {
        if (row.isNullAt(0) || row.isNullAt(1) || row.isNullAt(2)) {
            return null;
        }
        long tile = row.getLong(1);
        long rows = row.getLong(2);
        long newest = row.isNullAt(3) ? 0 : row.getLong(3);
        ByteBuffer slot = ByteBuffer.allocate(config.slotSize);
        slot.putLong(tile).putLong(rows).putLong(newest);
        int bitmapAt = slot.position();
        slot.putLong(0);
        long nulls = 0;
        for (int i = 0; i < isDouble.length; i++) {
            int column = FIRST + i;
            if (row.isNullAt(column)) {
                nulls |= 1L << i;
                slot.putLong(0);
            } else if (isDouble[i]) {
                slot.putDouble(row.getDouble(column));
            } else {
                slot.putLong(row.getLong(column));
            }
        }
        slot.putLong(bitmapAt, nulls);
        long slotNumber = Math.floorMod(tile, (long) config.slots);
        return new TileWrite(keys.of(row.getString(0)), newest, slotNumber, tile, rows, slot.array());
    }

    @Override
    public String script() {
        return "ring";
    }

    @Override
    public byte[][] commonArguments() {
        return new byte[][] {
            config.header,
            Ascii.bytes(config.offset),
            Ascii.bytes(config.slots),
            Ascii.bytes(config.slotSize),
            Ascii.bytes(config.totalSize),
            Ascii.bytes(config.hopMicros),
            Ascii.bytes(config.expireAfterMicros),
            Ascii.bytes(config.extendHash ? 1 : 0)
        };
    }
}
