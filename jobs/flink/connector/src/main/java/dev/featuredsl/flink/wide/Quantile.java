package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Counts in buckets cut from the bits of a double, and the exact least and greatest value. */
final class Quantile extends WideState {
    private static final int SHIFT = 52 - 7;

    private final Map<Integer, Count> counts = new HashMap<>();
    private double low = Double.POSITIVE_INFINITY;
    private double high = Double.NEGATIVE_INFINITY;

    @Override
    void add(long timeUs, Object[] cells) {
        double value = Cells.number(cells[0]);
        add(bucket(value), 1);
        low = Math.min(low, value);
        high = Math.max(high, value);
    }

    private void add(int bucket, long count) {
        counts.computeIfAbsent(bucket, absent -> new Count()).value += count;
    }

    /** From the bits without the last 45; below zero, the complement. */
    private static int bucket(double value) {
        int bits = (int) (Double.doubleToLongBits(Math.abs(value)) >>> SHIFT);
        return value < 0 ? ~bits : bits;
    }

    @Override
    void merge(WideState other) {
        Quantile from = (Quantile) other;
        from.counts.forEach((bucket, count) -> add(bucket, count.value));
        low = Math.min(low, from.low);
        high = Math.max(high, from.high);
    }

    @Override
    int size() {
        return counts.isEmpty() ? 0 : 2 * Double.BYTES + counts.size() * (Integer.BYTES + Long.BYTES);
    }

    @Override
    void write(ByteBuffer out) {
        if (counts.isEmpty()) {
            return;
        }
        out.putDouble(low + 0.0).putDouble(high + 0.0);
        int[] buckets = counts.keySet().stream().mapToInt(Integer::intValue).toArray();
        Arrays.sort(buckets);
        for (int bucket : buckets) {
            out.putInt(bucket).putLong(counts.get(bucket).value);
        }
    }

    @Override
    void read(ByteBuffer in) {
        if (in.hasRemaining()) {
            low = in.getDouble();
            high = in.getDouble();
        }
        while (in.hasRemaining()) {
            int bucket = in.getInt();
            add(bucket, in.getLong());
        }
    }
}
