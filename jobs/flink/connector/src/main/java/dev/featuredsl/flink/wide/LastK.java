package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The events of the k greatest (time, sequence, value), ascending. */
final class LastK extends WideState {
    static final int MOST_EVENTS = 1000;

    private final int k;
    private final List<Entry> entries = new ArrayList<>();

    LastK(int k) {
        this.k = k;
    }

    @Override
    void add(long timeUs, Object[] cells) {
        if (entries.size() < k || timeUs >= entries.get(0).timeUs) {
            insert(new Entry(timeUs, cells));
        }
    }

    private void insert(Entry entry) {
        int found = Collections.binarySearch(entries, entry);
        int at = found < 0 ? -found - 1 : found;
        if (entries.size() < k) {
            entries.add(at, entry);
        } else if (at > 0) {
            Collections.rotate(entries.subList(0, at), -1);
            entries.set(at - 1, entry);
        }
    }

    @Override
    void merge(WideState other) {
        for (Entry entry : ((LastK) other).entries) {
            insert(entry);
        }
    }

    @Override
    int size() {
        int size = 0;
        for (Entry entry : entries) {
            size += entry.size();
        }
        return size;
    }

    @Override
    void write(ByteBuffer out) {
        for (Entry entry : entries) {
            entry.write(out);
        }
    }

    @Override
    void read(ByteBuffer in) {
        while (in.hasRemaining()) {
            entries.add(Entry.read(in));
        }
    }
}
