package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;

/** The event of the least (time, sequence, value). */
final class First extends WideState {
    private Entry least;

    @Override
    void add(long timeUs, Object[] cells) {
        if (least == null || timeUs <= least.timeUs) {
            take(new Entry(timeUs, cells));
        }
    }

    @Override
    void merge(WideState other) {
        take(((First) other).least);
    }

    private void take(Entry entry) {
        if (least == null || entry != null && entry.compareTo(least) < 0) {
            least = entry;
        }
    }

    @Override
    int size() {
        return least == null ? 0 : least.size();
    }

    @Override
    void write(ByteBuffer out) {
        if (least != null) {
            least.write(out);
        }
    }

    @Override
    void read(ByteBuffer in) {
        if (in.hasRemaining()) {
            least = Entry.read(in);
        }
    }
}
