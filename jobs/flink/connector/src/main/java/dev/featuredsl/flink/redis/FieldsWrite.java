package dev.featuredsl.flink.redis;

import java.util.Arrays;

/** Ranked values for the fields of a hash; an empty value stands for none. */
final class FieldsWrite extends Write {
    private final long expiresMillis;
    private final byte[][] values;

    FieldsWrite(byte[] key, long expiresMillis, byte[][] values) {
        super(key);
        this.expiresMillis = expiresMillis;
        this.values = values;
    }

    @Override
    long place() {
        return 0;
    }

    @Override
    Write merge(Write later) {
        FieldsWrite other = (FieldsWrite) later;
        byte[][] merged = new byte[values.length][];
        for (int i = 0; i < merged.length; i++) {
            boolean newer = Arrays.compareUnsigned(values[i], other.values[i]) < 0;
            merged[i] = newer ? other.values[i] : values[i];
        }
        return new FieldsWrite(key, Math.max(expiresMillis, other.expiresMillis), merged);
    }

    @Override
    byte[][] arguments() {
        byte[][] out = new byte[values.length + 1][];
        out[0] = Ascii.bytes(expiresMillis);
        System.arraycopy(values, 0, out, 1, values.length);
        return out;
    }

    @Override
    int size() {
        int size = key.length;
        for (byte[] value : values) {
            size += value.length;
        }
        return size;
    }
}
