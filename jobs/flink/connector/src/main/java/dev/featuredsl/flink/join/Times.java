package dev.featuredsl.flink.join;

/** Microseconds of records against milliseconds of timers and watermarks. */
final class Times {
    private Times() {}

    /** The first millisecond at which every record up to {@code micros} is known once the watermark is there. */
    static long timer(long micros) {
        return -Math.floorDiv(-micros, 1000L);
    }

    /** True when the watermark has reached {@code micros}. */
    static boolean passed(Long watermarkMs, long micros) {
        return watermarkMs != null && timer(micros) <= watermarkMs;
    }
}
