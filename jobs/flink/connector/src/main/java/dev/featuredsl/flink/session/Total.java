package dev.featuredsl.flink.session;

/** A sum of integers in 128 bits, so that the order of adding does not decide whether it fits in 64 at the end. */
final class Total {
    final long high;
    final long low;

    Total(long value) {
        this(value < 0 ? -1 : 0, value);
    }

    Total(long high, long low) {
        this.high = high;
        this.low = low;
    }

    Total plus(Total other) {
        long sum = low + other.low;
        long carry = Long.compareUnsigned(sum, low) < 0 ? 1 : 0;
        return new Total(high + other.high + carry, sum);
    }

    /** True when it fits in 64 bits. */
    boolean fits() {
        return high == (low < 0 ? -1 : 0);
    }
}
