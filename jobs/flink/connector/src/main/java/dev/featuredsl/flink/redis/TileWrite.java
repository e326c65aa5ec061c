package dev.featuredsl.flink.redis;

/** A tile for a slot: of a ring, or a field of a hash. */
final class TileWrite extends Write {
    private final long slotNumber;
    private final long tile;
    private final long rows;
    private final byte[] content;

    TileWrite(byte[] key, long slotNumber, long tile, long rows, byte[] content) {
        super(key);
        this.slotNumber = slotNumber;
        this.tile = tile;
        this.rows = rows;
        this.content = content;
    }

    @Override
    long place() {
        return slotNumber;
    }

    @Override
    Write merge(Write later) {
        TileWrite other = (TileWrite) later;
        boolean newer = tile < other.tile || (tile == other.tile && rows <= other.rows);
        return newer ? other : this;
    }

    @Override
    byte[][] arguments() {
        return new byte[][] {content};
    }

    @Override
    int size() {
        return key.length + content.length;
    }
}
