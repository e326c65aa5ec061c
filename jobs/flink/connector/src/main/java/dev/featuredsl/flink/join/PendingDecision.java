package dev.featuredsl.flink.join;

/** A closed decision that waits until the catalog is known up to its time. */
public final class PendingDecision {
    public String eventId;
    public Long ts;
    public String payload;
    public Integer partition;
    public Long offset;
    public String clicks;
    public String auction;
    public Long activation;
}
