package dev.featuredsl.flink.unique;

/** The last event of a key in microseconds, null when none matters any more; and the rule, for timers see no arguments. */
public final class KeptTime {
    public Long at;
    public Long withinUs;

    /** True for an event: not within {@code withinUs} after the last one, which it replaces. Times must not go back. */
    boolean take(long time) {
        if (repeats(time)) {
            return false;
        }
        at = time;
        return true;
    }

    /** True for a time that nothing else can make an event: not before the last one, and within. */
    boolean repeats(long time) {
        return at != null && time >= at && Long.compareUnsigned(time - at, withinUs) <= 0;
    }

    /** The millisecond of event time after which no record is a duplicate of the last event. */
    long forgottenMs() {
        return Math.floorDiv(at > Long.MAX_VALUE - withinUs ? Long.MAX_VALUE : at + withinUs, 1000L);
    }
}
