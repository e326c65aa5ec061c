package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** MurmurHash3 for x64 with 128 bits (Austin Appleby, public domain). */
final class Murmur {
    private static final long C1 = 0x87c37b91114253d5L;
    private static final long C2 = 0x4cf5ad432745937fL;

    private Murmur() {}

    /** The low and the high half of the hash. */
    static long[] hash(byte[] data, long seed) {
        ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        long h1 = seed;
        long h2 = seed;
        while (in.remaining() >= 16) {
            h1 = Long.rotateLeft(h1 ^ mix1(in.getLong()), 27) + h2;
            h1 = h1 * 5 + 0x52dce729;
            h2 = Long.rotateLeft(h2 ^ mix2(in.getLong()), 31) + h1;
            h2 = h2 * 5 + 0x38495ab5;
        }
        long k1 = 0;
        long k2 = 0;
        for (int i = in.remaining() - 1; i >= 0; i--) {
            long b = data[in.position() + i] & 255L;
            if (i >= 8) {
                k2 = k2 << 8 | b;
            } else {
                k1 = k1 << 8 | b;
            }
        }
        h1 ^= mix1(k1) ^ data.length;
        h2 ^= mix2(k2) ^ data.length;
        h1 += h2;
        h2 += h1;
        h1 = finish(h1);
        h2 = finish(h2);
        h1 += h2;
        return new long[] {h1, h2 + h1};
    }

    private static long mix1(long k) {
        return Long.rotateLeft(k * C1, 31) * C2;
    }

    private static long mix2(long k) {
        return Long.rotateLeft(k * C2, 33) * C1;
    }

    private static long finish(long h) {
        h = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
        h = (h ^ h >>> 33) * 0xc4ceb9fe1a85ec53L;
        return h ^ h >>> 33;
    }
}
