package dev.featuredsl.flink.wide;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * The state of an aggregate of variable width; it starts empty. The bytes are those of the Python class of the same kind
 * (featuredsl/wide): equal states give equal bytes.
 */
abstract class WideState {
    static final byte FORMAT = 1;

    /** Takes one more event: the value, then, for ranked kinds, what decides between equal times. */
    abstract void add(long timeUs, Object[] cells);

    /** Takes the events of another state of this kind, which stays as it is and of which nothing that changes is kept. */
    abstract void merge(WideState other);

    /** How many bytes {@link #write} writes. */
    abstract int size();

    /** The state as bytes, without the format. */
    abstract void write(ByteBuffer out);

    /** Inverse of {@link #write}, called on an empty state; reads all that is left of the buffer. */
    abstract void read(ByteBuffer in);

    /** The format, then the state. */
    final byte[] toBytes() {
        ByteBuffer out = ByteBuffer.allocate(1 + size()).put(FORMAT);
        write(out);
        return out.array();
    }

    /** Inverse of {@link #toBytes}, called on an empty state. */
    final WideState fromBytes(byte[] bytes) {
        if (bytes.length == 0 || bytes[0] != FORMAT) {
            throw new IllegalStateException("a stored state of " + getClass().getSimpleName() + " has format "
                    + (bytes.length == 0 ? "none" : bytes[0] & 255) + "; this release reads " + FORMAT);
        }
        ByteBuffer in = ByteBuffer.wrap(bytes, 1, bytes.length - 1);
        try {
            read(in);
        } catch (BufferUnderflowException | IllegalArgumentException error) {
            throw new IllegalStateException("a stored state of " + getClass().getSimpleName() + " does not decode at byte "
                    + in.position() + " of " + bytes.length, error);
        }
        return this;
    }
}
