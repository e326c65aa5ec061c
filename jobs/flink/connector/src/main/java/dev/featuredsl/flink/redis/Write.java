package dev.featuredsl.flink.redis;

import java.util.Arrays;

/** One row in wire form: which place it goes to, and what is written there. Two writes to one place merge into one. */
abstract class Write {
    /** Redis key. */
    final byte[] key;

    Write(byte[] key) {
        this.key = key;
    }

    /** Identity of the place within the key: slot number, or 0 for a whole hash. */
    abstract long place();

    /** What would stand in Redis if this write and then the later one arrived. */
    abstract Write merge(Write later);

    /** Arguments of the script for this write. */
    abstract byte[][] arguments();

    /** About how many bytes travel. */
    abstract int size();

    @Override
    public final boolean equals(Object other) {
        return other instanceof Write && place() == ((Write) other).place() && Arrays.equals(key, ((Write) other).key);
    }

    @Override
    public final int hashCode() {
        return 31 * Arrays.hashCode(key) + Long.hashCode(place());
    }
}
