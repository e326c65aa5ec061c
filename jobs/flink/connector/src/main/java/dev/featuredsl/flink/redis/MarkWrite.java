package dev.featuredsl.flink.redis;

/** Up to which event time, in microseconds, this subtask has written everything. Goes out after all rows before it. */
final class MarkWrite extends Write {
    private final long micros;

    MarkWrite(byte[] key, long micros) {
        super(key);
        this.micros = micros;
    }

    @Override
    long place() {
        return 0;
    }

    @Override
    Write merge(Write later) {
        MarkWrite other = (MarkWrite) later;
        return micros <= other.micros ? other : this;
    }

    @Override
    byte[][] arguments() {
        return new byte[][] {Ascii.bytes(micros)};
    }

    @Override
    int size() {
        return key.length + Long.BYTES;
    }
}
