package dev.featuredsl.flink.unique;

/** The last event of a key in microseconds, null when none matters any more; and the rule, for timers see no arguments. */
public final class KeptTime {
    public Long at;
    public Long withinUs;

    /** True for an event: not within {@code withinUs} of the last one. The later of the two is the last from then on. */
    boolean take(long time) {
        if (repeats(time)) {
            return false;
        }
        at = at == null ? time : Math.max(at, time);
        return true;
    }

    /**
     * True for a time that nothing else can make an event. One before the last event comes after a restart, where event
     * time begins anew: of two copies the one that was taken stays.
     */
    boolean repeats(long time) {
        return at != null && Long.compareUnsigned(time >= at ? time - at : at - time, withinUs) <= 0;
    }

    /** The millisecond of event time after which no record is a duplicate of the last event. */
    long forgottenMs() {
        return Math.floorDiv(at > Long.MAX_VALUE - withinUs ? Long.MAX_VALUE : at + withinUs, 1000L);
    }
}
