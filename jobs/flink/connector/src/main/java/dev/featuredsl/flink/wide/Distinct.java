package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Distinct values by HyperLogLog in the hash and the bytes of Apache DataSketches (lgK 12, HLL_8). A coupon is a register's
 * value (6 bits) above an address (26 bits) of it; up to 384 coupons are kept as they are.
 */
final class Distinct extends WideState {
    static final int LG_K = 12;
    static final int REGISTERS = 1 << LG_K;
    static final int MOST_COUPONS = 384;

    private static final long SEED = 9001;
    private static final int ADDRESS_BITS = 26;
    private static final int LIST = 8;
    private static final int HLL_8 = 2 << 2;
    private static final int EMPTY = 4;
    private static final int COMPACT = 8;
    private static final int OUT_OF_ORDER = 16;
    private static final int DENSE_HEAD = 40;

    private final Coupons coupons = new Coupons();
    /** Null while the coupons are kept. */
    private byte[] registers;

    @Override
    void add(long timeUs, Object[] cells) {
        take(coupon(cells[0]));
    }

    @Override
    void merge(WideState other) {
        Distinct from = (Distinct) other;
        if (from.registers == null) {
            for (int coupon : from.coupons.ascending()) {
                take(coupon);
            }
            return;
        }
        spread();
        for (int i = 0; i < REGISTERS; i++) {
            registers[i] = (byte) Math.max(registers[i], from.registers[i]);
        }
    }

    private void take(int coupon) {
        if (registers != null) {
            raise(coupon);
        } else if (coupons.add(coupon) && coupons.size() > MOST_COUPONS) {
            spread();
        }
    }

    private void raise(int coupon) {
        int at = coupon & REGISTERS - 1;
        registers[at] = (byte) Math.max(registers[at], coupon >>> ADDRESS_BITS);
    }

    private void spread() {
        if (registers == null) {
            registers = new byte[REGISTERS];
            for (int coupon : coupons.ascending()) {
                raise(coupon);
            }
            coupons.clear();
        }
    }

    /** What DataSketches keeps of a value. */
    static int coupon(Object cell) {
        long[] hash = Murmur.hash(hashed(cell), SEED);
        int value = Math.min(Long.numberOfLeadingZeros(hash[1]), 62) + 1;
        return value << ADDRESS_BITS | (int) hash[0] & (1 << ADDRESS_BITS) - 1;
    }

    private static byte[] hashed(Object cell) {
        if (cell instanceof Text) {
            return ((Text) cell).utf8;
        }
        long bits;
        if (cell instanceof Double) {
            bits = Double.doubleToLongBits((Double) cell);
        } else if (cell instanceof Boolean) {
            bits = (Boolean) cell ? 1 : 0;
        } else if (cell != null) {
            bits = (Long) cell;
        } else {
            throw new IllegalArgumentException("fdsl_wide: approx_distinct takes no null; the condition must exclude it");
        }
        return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(bits).array();
    }

    @Override
    int size() {
        if (registers != null) {
            return DENSE_HEAD + REGISTERS;
        }
        return (coupons.size() < LIST ? 8 : 12) + Integer.BYTES * coupons.size();
    }

    @Override
    void write(ByteBuffer out) {
        out.order(ByteOrder.LITTLE_ENDIAN);
        int n = coupons.size();
        if (registers != null) {
            writeDense(out);
        } else if (n < LIST) {
            head(out, 2, 3, n == 0 ? COMPACT | EMPTY : COMPACT, n, HLL_8);
        } else {
            int lgSize = 5;
            while (4 * n > 3 << lgSize) {
                lgSize++;
            }
            head(out, 3, lgSize, COMPACT, 0, HLL_8 | 1);
            out.putInt(n);
        }
        for (int coupon : coupons.ascending()) {
            out.putInt(coupon);
        }
    }

    private static void head(ByteBuffer out, int words, int lgSize, int flags, int count, int mode) {
        out.put((byte) words).put((byte) 1).put((byte) 7).put((byte) LG_K);
        out.put((byte) lgSize).put((byte) flags).put((byte) count).put((byte) mode);
    }

    /** Sums of 2^-register for readers that keep them (exact: below 2^53 steps), and the mark that order is unknown. */
    private void writeDense(ByteBuffer out) {
        double small = 0;
        double large = 0;
        int zeros = 0;
        for (byte register : registers) {
            double share = Math.scalb(1.0, -register);
            if (register < 32) {
                small += share;
            } else {
                large += share;
            }
            zeros += register == 0 ? 1 : 0;
        }
        head(out, 10, 0, COMPACT | OUT_OF_ORDER, 0, HLL_8 | 2);
        out.putDouble(0).putDouble(small).putDouble(large).putInt(zeros).putInt(0).put(registers);
    }

    /** Also reads what DataSketches writes for this type, compact. */
    @Override
    void read(ByteBuffer in) {
        in.order(ByteOrder.LITTLE_ENDIAN);
        byte[] head = new byte[8];
        in.get(head);
        if (head[1] != 1 || head[2] != 7 || head[3] != LG_K || (head[7] & 12) != HLL_8) {
            throw new IllegalArgumentException("no HLL_8 sketch of lgK " + LG_K + ": " + Arrays.toString(head));
        }
        int mode = head[7] & 3;
        if (mode == 2) {
            if (in.remaining() != DENSE_HEAD - head.length + REGISTERS) {
                throw new IllegalArgumentException(in.remaining() + " bytes of registers");
            }
            registers = new byte[REGISTERS];
            in.position(in.position() + DENSE_HEAD - head.length);
            in.get(registers);
            return;
        }
        int count = mode == 0 ? head[6] : in.getInt();
        for (int i = 0; i < count; i++) {
            coupons.add(in.getInt());
        }
    }
}
