package dev.featuredsl.flink.wide;

import java.util.Arrays;

/** A set of integers other than 0, by open addressing. */
final class Coupons {
    private static final int SMALLEST = 8;
    private static final int SPREAD = 0x9E3779B9;

    private int[] slots = new int[0];
    private int size;

    int size() {
        return size;
    }

    /** Whether it is new. */
    boolean add(int coupon) {
        if (4 * (size + 1) > 3 * slots.length) {
            int[] old = slots;
            slots = new int[Math.max(SMALLEST, 2 * old.length)];
            for (int kept : old) {
                if (kept != 0) {
                    slots[slotOf(kept)] = kept;
                }
            }
        }
        int at = slotOf(coupon);
        if (slots[at] == coupon) {
            return false;
        }
        slots[at] = coupon;
        size++;
        return true;
    }

    void clear() {
        slots = new int[0];
        size = 0;
    }

    /** In ascending order of uint32. */
    int[] ascending() {
        int[] found = new int[size];
        int n = 0;
        for (int slot : slots) {
            if (slot != 0) {
                found[n++] = slot ^ Integer.MIN_VALUE;
            }
        }
        Arrays.sort(found);
        for (int i = 0; i < n; i++) {
            found[i] ^= Integer.MIN_VALUE;
        }
        return found;
    }

    private int slotOf(int coupon) {
        int at = coupon * SPREAD >>> 16 & slots.length - 1;
        while (slots[at] != 0 && slots[at] != coupon) {
            at = at + 1 & slots.length - 1;
        }
        return at;
    }
}
