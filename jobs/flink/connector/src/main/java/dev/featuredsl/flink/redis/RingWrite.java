package dev.featuredsl.flink.redis;

/** A tile for a slot of a ring. */
final class RingWrite extends Write {
    private final long slotNumber;
    private final long tile;
    private final long rows;
    private final byte[] slot;

    RingWrite(byte[] key, long slotNumber, long tile, long rows, byte[] slot) {
        super(key);
        this.slotNumber = slotNumber;
        this.tile = tile;
        this.rows = rows;
        this.slot = slot;
    }

    @Override
    long place() {
        return slotNumber;
    }

    @Override
    Write merge(Write later) {
        RingWrite other = (RingWrite) later;
        boolean newer = tile < other.tile || (tile == other.tile && rows <= other.rows);
        return newer ? other : this;
    }

    @Override
    byte[][] arguments() {
        return new byte[][] {slot};
    }
}
