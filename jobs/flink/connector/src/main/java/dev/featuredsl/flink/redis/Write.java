package dev.featuredsl.flink.redis;

import java.util.Arrays;

/** One row in wire form: which place it goes to, and what is written there. Two writes to one place merge into one. */
abstract class Write {
    /** Redis key. */
    final byte[] key;
    /** Identity of the place within the key: slot number, or 0 for a whole hash. */
    final long place;
    /** Event time of the newest event of its row. */
    final long micros;
    /** When its place began to wait, by {@link System#nanoTime}; kept by {@link Pending}. */
    long sinceNanos;
    private final int hash;

    Write(byte[] key, long place, long micros) {
        this.key = key;
        this.place = place;
        this.micros = micros;
        this.hash = 31 * Arrays.hashCode(key) + Long.hashCode(place);
    }

    /** Becomes what would stand in Redis if this write and then the later one, to the same place, arrived. */
    abstract void merge(Write later);

    /** Arguments of the script for this write. */
    abstract byte[][] arguments();

    /** About how many bytes travel. */
    abstract int size();

    @Override
    public final boolean equals(Object other) {
        return other instanceof Write && place == ((Write) other).place && Arrays.equals(key, ((Write) other).key);
    }

    @Override
    public final int hashCode() {
        return hash;
    }
}
