package dev.featuredsl.flink.join;

/** A record that belongs to a decision: a click, an auction record or an activation. */
public final class Attached {
    public String kind;
    public Long ts;
    public String slotId;
    public Double value;
    public String payload;

    static Attached of(String kind, long ts, String slotId, Double value, String payload) {
        Attached record = new Attached();
        record.kind = kind;
        record.ts = ts;
        record.slotId = slotId;
        record.value = value;
        record.payload = payload;
        return record;
    }

    /** Equal for repeats of one record. */
    String identity() {
        return String.join("\u0000", kind, Long.toString(ts), String.valueOf(slotId), String.valueOf(value));
    }
}
