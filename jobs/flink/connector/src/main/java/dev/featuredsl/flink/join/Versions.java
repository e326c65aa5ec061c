package dev.featuredsl.flink.join;

import java.util.ArrayList;
import java.util.List;

/** Versions of an item's features by time, oldest first; features null = the item was deleted. */
public final class Versions {
    public List<Long> times = new ArrayList<>();
    public List<String> features = new ArrayList<>();

    /** Adds a version; among equal times the later one to arrive wins. */
    void add(long ts, String value) {
        int at = after(ts);
        if (at > 0 && times.get(at - 1) == ts) {
            features.set(at - 1, value);
        } else {
            times.add(at, ts);
            features.add(at, value);
        }
    }

    /** Features as of a time; null when there was no such item then. */
    String asOf(long ts) {
        int at = after(ts);
        return at == 0 ? null : features.get(at - 1);
    }

    /** Drops versions that no time from {@code horizon} on can see. */
    void prune(long horizon) {
        int keep = Math.max(0, after(horizon) - 1);
        times.subList(0, keep).clear();
        features.subList(0, keep).clear();
    }

    private int after(long ts) {
        int at = times.size();
        while (at > 0 && times.get(at - 1) > ts) {
            at--;
        }
        return at;
    }
}
