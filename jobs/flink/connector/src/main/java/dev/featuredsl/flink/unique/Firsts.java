package dev.featuredsl.flink.unique;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The records of one key that are events: times and ties, by time; in state as 16 bytes each.
 *
 * <p>A record at most {@code within} after one of them is its duplicate. One that is at most that much before one of
 * them came too late to be the event: of two copies the earlier is the event where all are known.
 */
final class Firsts {
    static final String DUPLICATE = "duplicate";
    static final String EARLIER = "duplicate_earlier";
    private static final int BYTES = 2 * Long.BYTES;
    private long[] times;
    private long[] ties;

    private Firsts(long[] times, long[] ties) {
        this.times = times;
        this.ties = ties;
    }

    /** What {@link #write} made; of null, none. */
    static Firsts read(byte[] bytes) {
        int n = bytes == null ? 0 : bytes.length / BYTES;
        Firsts read = new Firsts(new long[n], new long[n]);
        for (int i = 0; i < n; i++) {
            read.times[i] = ByteBuffer.wrap(bytes).getLong(i * BYTES);
            read.ties[i] = ByteBuffer.wrap(bytes).getLong(i * BYTES + Long.BYTES);
        }
        return read;
    }

    byte[] write() {
        ByteBuffer out = ByteBuffer.allocate(times.length * BYTES);
        for (int i = 0; i < times.length; i++) {
            out.putLong(times[i]).putLong(ties[i]);
        }
        return out.array();
    }

    boolean isEmpty() {
        return times.length == 0;
    }

    /** Null for a record that is an event, which is remembered; else what it is. */
    String take(long time, long tie, long within) {
        int next = after(time);
        if (next > 0 && near(times[next - 1], time, within)) {
            return times[next - 1] == time && tie < ties[next - 1] ? EARLIER : DUPLICATE;
        }
        if (next < times.length && near(time, times[next], within)) {
            return EARLIER;
        }
        times = inserted(times, next, time);
        ties = inserted(ties, next, tie);
        return null;
    }

    /** Forgets what is before a time; true when there was any. */
    boolean forget(long before) {
        int gone = before == Long.MIN_VALUE ? 0 : after(before - 1);
        times = Arrays.copyOfRange(times, gone, times.length);
        ties = Arrays.copyOfRange(ties, gone, ties.length);
        return gone > 0;
    }

    /** True when {@code later} is at most {@code within} after {@code earlier}; the distance may need 64 bits. */
    private static boolean near(long earlier, long later, long within) {
        return Long.compareUnsigned(later - earlier, within) <= 0;
    }

    private int after(long time) {
        int at = times.length;
        while (at > 0 && times[at - 1] > time) {
            at--;
        }
        return at;
    }

    private static long[] inserted(long[] values, int at, long value) {
        long[] made = Arrays.copyOf(values, values.length + 1);
        System.arraycopy(values, at, made, at + 1, values.length - at);
        made[at] = value;
        return made;
    }
}
