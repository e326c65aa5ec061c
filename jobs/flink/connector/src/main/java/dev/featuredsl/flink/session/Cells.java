package dev.featuredsl.flink.session;

import java.nio.ByteBuffer;
import org.apache.flink.metrics.Counter;

/**
 * What is kept of a session as bytes: in the state of the job, and as the content of a record in Redis.
 *
 * <p>A cell is null, a {@link Long}, a {@link Double}, a {@link Total} or the bytes of a state. In the state of the job each
 * has a tag that tells which, so that a timer, which sees no arguments, can make the content: 0 where there is nothing,
 * or 1 and the number or the length (uint32) and the state; 2 for a state that is left out because it is too large.
 */
final class Cells {
    private static final byte NOTHING = 0;
    private static final byte PRESENT = 1;
    private static final byte TOO_LARGE = 2;
    private static final byte LONG = 1;
    private static final byte DOUBLE = 2;
    private static final byte TOTAL = 3;
    private static final byte STATE = 4;

    private Cells() {}

    static byte[] write(Object[] cells) {
        int size = 0;
        for (Object cell : cells) {
            size += 1 + (cell == null ? 0 : cell instanceof Total ? 16 : cell instanceof byte[] ? 4 + ((byte[]) cell).length : 8);
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Object cell : cells) {
            write(out, cell);
        }
        return out.array();
    }

    private static void write(ByteBuffer out, Object cell) {
        if (cell == null) {
            out.put(NOTHING);
        } else if (cell instanceof Long) {
            out.put(LONG).putLong((Long) cell);
        } else if (cell instanceof Double) {
            out.put(DOUBLE).putDouble((Double) cell);
        } else if (cell instanceof Total) {
            out.put(TOTAL).putLong(((Total) cell).high).putLong(((Total) cell).low);
        } else {
            out.put(STATE).putInt(((byte[]) cell).length).put((byte[]) cell);
        }
    }

    static Object[] read(byte[] stored, int count) {
        ByteBuffer in = ByteBuffer.wrap(stored);
        Object[] cells = new Object[count];
        for (int i = 0; i < count; i++) {
            cells[i] = read(in);
        }
        return cells;
    }

    private static Object read(ByteBuffer in) {
        byte tag = in.get();
        switch (tag) {
            case NOTHING:
                return null;
            case LONG:
                return in.getLong();
            case DOUBLE:
                return in.getDouble();
            case TOTAL:
                return new Total(in.getLong(), in.getLong());
            case STATE:
                byte[] state = new byte[in.getInt()];
                in.get(state);
                return state;
            default:
                throw new IllegalStateException("fdsl_sessions: a stored session has tag " + tag);
        }
    }

    /** The content of a record of at most so many bytes; of more, states that take more than their share are left out and counted. */
    static byte[] content(byte[] stored, int maxBytes, Counter leftOut) {
        ByteBuffer in = ByteBuffer.wrap(stored);
        ByteBuffer out = ByteBuffer.allocate(stored.length);
        int share = stored.length <= maxBytes ? Integer.MAX_VALUE : maxBytes / count(stored);
        while (in.hasRemaining()) {
            content(out, read(in), share, leftOut);
        }
        byte[] found = new byte[out.position()];
        out.flip().get(found);
        return found;
    }

    private static void content(ByteBuffer out, Object cell, int share, Counter leftOut) {
        if (cell instanceof Long) {
            out.put(PRESENT).putLong((Long) cell);
        } else if (cell instanceof Double) {
            out.put(PRESENT).putDouble((Double) cell);
        } else if (cell instanceof Total && ((Total) cell).fits()) {
            out.put(PRESENT).putLong(((Total) cell).low);
        } else if (cell instanceof byte[]) {
            byte[] state = (byte[]) cell;
            if (5L + state.length > share) {
                out.put(TOO_LARGE);
                leftOut.inc();
            } else {
                out.put(PRESENT).putInt(state.length).put(state);
            }
        } else {
            out.put(NOTHING);
        }
    }

    private static int count(byte[] stored) {
        ByteBuffer in = ByteBuffer.wrap(stored);
        int count = 0;
        for (; in.hasRemaining(); count++) {
            read(in);
        }
        return count;
    }
}
