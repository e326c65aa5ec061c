package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;

/** The least or the greatest text, by UTF-8 bytes; nulls are skipped. */
final class Extreme extends WideState {
    private final int sign;
    private Text best;

    private Extreme(int sign) {
        this.sign = sign;
    }

    static Extreme least() {
        return new Extreme(1);
    }

    static Extreme greatest() {
        return new Extreme(-1);
    }

    @Override
    void add(long timeUs, Object[] cells) {
        take(Cells.text(cells[0]));
    }

    @Override
    void merge(WideState other) {
        take(((Extreme) other).best);
    }

    private void take(Text text) {
        if (best == null || text != null && sign * text.compareTo(best) < 0) {
            best = text;
        }
    }

    @Override
    int size() {
        return Cells.size(best);
    }

    @Override
    void write(ByteBuffer out) {
        Cells.write(out, best);
    }

    @Override
    void read(ByteBuffer in) {
        best = Cells.text(Cells.read(in));
    }
}
