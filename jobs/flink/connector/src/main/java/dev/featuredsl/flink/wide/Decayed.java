package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;

/** The sum of x * 2^(-age / half-life), as of the newest event: so no weight is above 1. */
final class Decayed extends WideState {
    private final double halfLifeUs;
    private boolean any;
    private long timeUs;
    private double sum;

    Decayed(long halfLifeUs) {
        this.halfLifeUs = halfLifeUs;
    }

    @Override
    void add(long atUs, Object[] cells) {
        take(atUs, Cells.number(cells[0]));
    }

    @Override
    void merge(WideState other) {
        Decayed from = (Decayed) other;
        if (from.any) {
            take(from.timeUs, from.sum);
        }
    }

    private void take(long atUs, double value) {
        if (!any) {
            sum = value;
            timeUs = atUs;
            any = true;
        } else if (timeUs <= atUs) {
            sum = value + sum * weight(atUs - timeUs);
            timeUs = atUs;
        } else {
            sum += value * weight(timeUs - atUs);
        }
    }

    /** The difference of two times is below 2^64. */
    private double weight(long ageUs) {
        return Math.pow(2, -(ageUs >= 0 ? ageUs : ageUs + 0x1p64) / halfLifeUs);
    }

    @Override
    int size() {
        return any ? Long.BYTES + Double.BYTES : 0;
    }

    @Override
    void write(ByteBuffer out) {
        if (any) {
            out.putLong(timeUs).putDouble(sum);
        }
    }

    @Override
    void read(ByteBuffer in) {
        if (in.hasRemaining()) {
            take(in.getLong(), in.getDouble());
        }
    }
}
