package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Counts of values: exact up to 2,048 distinct ones, a Misra-Gries summary of 1,024 beyond. */
final class TopK extends WideState {
    static final int MOST_VALUES = 100;
    static final int KEPT = 1024;
    static final int EXACT = 2 * KEPT;

    private final Map<Object, Count> counts = new HashMap<>();
    private long missed;

    @Override
    void add(long timeUs, Object[] cells) {
        add(cells[0], 1);
        cut();
    }

    private void add(Object cell, long count) {
        counts.computeIfAbsent(cell, absent -> new Count()).value += count;
    }

    @Override
    void merge(WideState other) {
        TopK from = (TopK) other;
        from.counts.forEach((cell, count) -> add(cell, count.value));
        missed += from.missed;
        cut();
    }

    /** Takes the count of the first value beyond those kept from all: at least KEPT + 1 values lose as much. */
    private void cut() {
        if (counts.size() <= EXACT) {
            return;
        }
        long[] ascending = counts.values().stream().mapToLong(count -> count.value).sorted().toArray();
        long least = ascending[ascending.length - 1 - KEPT];
        counts.values().removeIf(count -> count.value <= least);
        counts.values().forEach(count -> count.value -= least);
        missed += least;
    }

    @Override
    int size() {
        int size = Long.BYTES;
        for (Object cell : counts.keySet()) {
            size += Cells.size(cell) + Long.BYTES;
        }
        return size;
    }

    @Override
    void write(ByteBuffer out) {
        Object[] cells = counts.keySet().toArray();
        Arrays.sort(cells, Cells::compare);
        out.putLong(missed);
        for (Object cell : cells) {
            Cells.write(out, cell);
            out.putLong(counts.get(cell).value);
        }
    }

    @Override
    void read(ByteBuffer in) {
        missed = in.getLong();
        while (in.hasRemaining()) {
            Object cell = Cells.read(in);
            add(cell, in.getLong());
        }
    }
}
