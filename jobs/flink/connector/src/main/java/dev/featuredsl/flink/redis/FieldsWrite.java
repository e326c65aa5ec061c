package dev.featuredsl.flink.redis;

import java.util.Arrays;

/** Ranked values for the fields of a hash; an empty value stands for none. */
final class FieldsWrite extends Write {
    private final byte[][] values;
    private long expiresMillis;

    FieldsWrite(byte[] key, long micros, long expiresMillis, byte[][] values) {
        super(key, 0, micros);
        this.expiresMillis = expiresMillis;
        this.values = values;
    }

    @Override
    void merge(Write later) {
        FieldsWrite other = (FieldsWrite) later;
        for (int i = 0; i < values.length; i++) {
            if (Arrays.compareUnsigned(values[i], other.values[i]) < 0) {
                values[i] = other.values[i];
            }
        }
        expiresMillis = Math.max(expiresMillis, other.expiresMillis);
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
