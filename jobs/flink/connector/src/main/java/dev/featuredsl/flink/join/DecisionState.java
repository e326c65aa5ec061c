package dev.featuredsl.flink.join;

/** What is kept of one decision: its first impression, and what has been settled about it. */
public final class DecisionState {
    /** Time of the impression in microseconds; null while only other records of the decision came. */
    public Long ts;

    /** The impression as JSON text; null once the decision is closed. */
    public String payload;

    public Integer partition;
    public Long offset;

    /** True once the example of the decision has been emitted. */
    public Boolean closed;

    /** Rules of the join, kept here because timers see no arguments. */
    public Long windowUs;

    public Long lateUs;

    /** When the state is dropped, in milliseconds of event time. */
    public Long expireMs;

    boolean hasImpression() {
        return ts != null;
    }

    boolean isClosed() {
        return Boolean.TRUE.equals(closed);
    }

    long retentionUs() {
        return windowUs + lateUs;
    }
}
