package dev.featuredsl.flink.redis;

/** Up to which event time, in microseconds, this subtask has written everything. Goes out after all rows before it. */
final class MarkWrite extends Write {
    private long closed;

    MarkWrite(byte[] key, long micros) {
        super(key, 0, micros);
        this.closed = micros;
    }

    @Override
    void merge(Write later) {
        closed = Math.max(closed, later.micros);
    }

    @Override
    byte[][] arguments() {
        return new byte[][] {Ascii.bytes(closed)};
    }

    @Override
    int size() {
        return key.length + Long.BYTES;
    }
}
