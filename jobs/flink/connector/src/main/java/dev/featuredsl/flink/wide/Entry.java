package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;

/** An event in a state: its time, its value and what decides between equal times. Never changed. */
final class Entry implements Comparable<Entry> {
    final long timeUs;
    private final Object[] cells;

    Entry(long timeUs, Object[] cells) {
        this.timeUs = timeUs;
        this.cells = cells;
    }

    /** By time, then by what follows the value, the value last. */
    @Override
    public int compareTo(Entry other) {
        int order = Long.compare(timeUs, other.timeUs);
        for (int i = 1; order == 0 && i < cells.length; i++) {
            order = Cells.compare(cells[i], other.cells[i]);
        }
        return order != 0 ? order : Cells.compare(cells[0], other.cells[0]);
    }

    int size() {
        int size = Long.BYTES + Short.BYTES;
        for (Object cell : cells) {
            size += Cells.size(cell);
        }
        return size;
    }

    void write(ByteBuffer out) {
        out.putLong(timeUs).putShort((short) cells.length);
        for (Object cell : cells) {
            Cells.write(out, cell);
        }
    }

    static Entry read(ByteBuffer in) {
        long timeUs = in.getLong();
        Object[] cells = new Object[in.getShort() & 0xFFFF];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = Cells.read(in);
        }
        return new Entry(timeUs, cells);
    }
}
