package dev.featuredsl.flink.redis;

/** A tile for a slot: of a ring, or a field of a hash. */
final class TileWrite extends Write {
    private long tile;
    private long rows;
    private byte[] content;

    TileWrite(byte[] key, long micros, long slotNumber, long tile, long rows, byte[] content) {
        super(key, slotNumber, micros);
        this.tile = tile;
        this.rows = rows;
        this.content = content;
    }

    @Override
    void merge(Write later) {
        TileWrite other = (TileWrite) later;
        if (tile < other.tile || (tile == other.tile && rows <= other.rows)) {
            tile = other.tile;
            rows = other.rows;
            content = other.content;
        }
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
