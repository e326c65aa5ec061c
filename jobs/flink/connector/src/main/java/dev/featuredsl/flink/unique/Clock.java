package dev.featuredsl.flink.unique;

/** How far the records of a shard are, in microseconds of their own time, and where old ones were forgotten last. */
public final class Clock {
    private static final int SWEEPS = 8;
    /** Times beyond this are taken for it: distances must fit 64 bits. */
    private static final long FAR_US = Long.MAX_VALUE / 4;

    public Long newest;
    public Long swept;

    /** Moves on, never back; true when it is time to forget: some times in each {@code keep}. */
    boolean moves(long time, long keep) {
        long now = Math.max(-FAR_US, Math.min(time, FAR_US));
        if (newest == null) {
            newest = now;
            swept = now;
        }
        newest = Math.max(newest, now);
        if (newest - swept <= keep / SWEEPS) {
            return false;
        }
        swept = newest;
        return true;
    }
}
