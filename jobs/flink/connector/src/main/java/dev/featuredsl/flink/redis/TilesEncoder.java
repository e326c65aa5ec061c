package dev.featuredsl.flink.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/**
 * Rows {@code (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, s... BYTES)} to fields of a hash: the version, tile, row count and
 * high-water mark, then for each state a tag and its length and bytes. In a tile that would be too large the large states are
 * left out, by a tag of their own: readers call what is made of them degraded.
 */
final class TilesEncoder implements RowEncoder {
    private static final long serialVersionUID = 1L;
    private static final int FIRST = 4;
    private static final int HEAD_SIZE = 25;
    private static final int STATE_HEAD_SIZE = 5;
    private static final byte VERSION = 1;
    private static final byte NOTHING = 0;
    private static final byte PRESENT = 1;
    private static final byte TOO_LARGE = 2;

    private final SinkConfig config;
    private final KeyBytes keys;
    private final int states;
    private long leftOut;

    TilesEncoder(SinkConfig config, List<LogicalType> types) {
        this.config = config;
        this.keys = new KeyBytes(config.keyPrefix, 'X');
        this.states = types.size() - FIRST;
        SinkConfig.check(states > 0
                        && types.get(0).getTypeRoot() == LogicalTypeRoot.VARCHAR
                        && types.subList(1, FIRST).stream().allMatch(t -> t.getTypeRoot() == LogicalTypeRoot.BIGINT)
                        && types.subList(FIRST, types.size()).stream().allMatch(t -> t.getTypeRoot() == LogicalTypeRoot.VARBINARY),
                "mode 'tiles' wants columns (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, s BYTES, ...), not " + types);
        SinkConfig.check(config.maxBytes >= HEAD_SIZE + states,
                "max-bytes is " + config.maxBytes + "; a tile of " + states + " states needs at least " + (HEAD_SIZE + states));
    }

    @Override
    public Write encode(RowData row) {
        if (row.isNullAt(0) || row.isNullAt(1) || row.isNullAt(2)) {
            return null;
        }
        byte[][] kept = new byte[states][];
        long size = HEAD_SIZE;
        for (int i = 0; i < states; i++) {
            kept[i] = row.isNullAt(FIRST + i) ? null : row.getBinary(FIRST + i);
            size += sizeOf(kept[i]);
        }
        boolean[] lost = new boolean[states];
        if (size > config.maxBytes) {
            size = leaveOut(kept, lost);
        }
        long tile = row.getLong(1);
        long rows = row.getLong(2);
        long newest = row.isNullAt(3) ? 0 : row.getLong(3);
        ByteBuffer content = ByteBuffer.allocate((int) size);
        content.put(VERSION).putLong(tile).putLong(rows).putLong(newest);
        for (int i = 0; i < states; i++) {
            if (kept[i] == null) {
                content.put(lost[i] ? TOO_LARGE : NOTHING);
            } else {
                content.put(PRESENT).putInt(kept[i].length).put(kept[i]);
            }
        }
        long slotNumber = Math.floorMod(tile, (long) config.slots);
        return new TileWrite(keys.of(row.getString(0)), newest, slotNumber, tile, rows, content.array());
    }

    /** Drops the states that take more than their share of the bytes; returns the size of what is left. */
    private long leaveOut(byte[][] kept, boolean[] lost) {
        long share = (config.maxBytes - HEAD_SIZE) / states;
        long size = HEAD_SIZE;
        for (int i = 0; i < states; i++) {
            if (sizeOf(kept[i]) > share) {
                kept[i] = null;
                lost[i] = true;
                leftOut++;
            }
            size += sizeOf(kept[i]);
        }
        return size;
    }

    private static long sizeOf(byte[] state) {
        return state == null ? 1 : STATE_HEAD_SIZE + (long) state.length;
    }

    @Override
    public long leftOut() {
        return leftOut;
    }

    @Override
    public String script() {
        return "tiles";
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
