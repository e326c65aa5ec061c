package dev.featuredsl.flink.session;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.metrics.Counter;
import org.apache.flink.types.Row;

/**
 * The sessions of one key that may still grow, oldest first, as parallel lists: sessions of the events that came so far.
 * They are a gap or more apart; an event between two of them may join them.
 */
public final class Sessions {
    /** Times of the first and the last event in microseconds, how many rows, and their parts. */
    public List<Long> firsts = new ArrayList<>();

    public List<Long> lasts = new ArrayList<>();
    public List<Long> rows = new ArrayList<>();
    public List<byte[]> parts = new ArrayList<>();

    /** Rules, kept here because timers see no arguments. */
    public Long gapUs;

    public Integer maxBytes;

    /** When the timer rings, in milliseconds of event time. */
    public Long timerMs;

    /** Takes a row, whose columns start at {@code column}; returns the place of its session. */
    int add(long ts, Parts kept, Row row, int column) {
        int at = 0;
        while (at < lasts.size() && ts - lasts.get(at) >= gapUs) {
            at++;
        }
        if (at == firsts.size() || firsts.get(at) - ts >= gapUs) {
            firsts.add(at, ts);
            lasts.add(at, ts);
            rows.add(at, 1L);
            parts.add(at, kept.add(null, ts, row, column));
            return at;
        }
        firsts.set(at, Math.min(firsts.get(at), ts));
        lasts.set(at, Math.max(lasts.get(at), ts));
        rows.set(at, rows.get(at) + 1);
        parts.set(at, kept.add(parts.get(at), ts, row, column));
        if (at + 1 < firsts.size() && firsts.get(at + 1) - lasts.get(at) < gapUs) {
            join(at, kept);
        }
        return at;
    }

    /** Joins a session with the next one. */
    private void join(int at, Parts kept) {
        firsts.remove(at + 1);
        lasts.remove(at);
        rows.set(at, rows.get(at) + rows.remove(at + 1));
        parts.set(at, kept.merge(parts.get(at), parts.remove(at + 1)));
    }

    /** The record of a session: first and last event, rows, content. */
    Row record(int at, Counter leftOut) {
        return Row.of(firsts.get(at), lasts.get(at), rows.get(at), Cells.content(parts.get(at), maxBytes, leftOut));
    }

    /** The records of the sessions that no event can join any more at a watermark; they are forgotten. */
    List<Row> closed(long watermarkMs, Counter leftOut) {
        List<Row> found = new ArrayList<>();
        while (!lasts.isEmpty() && closesMs() <= watermarkMs) {
            found.add(record(0, leftOut));
            firsts.remove(0);
            lasts.remove(0);
            rows.remove(0);
            parts.remove(0);
        }
        return found;
    }

    boolean isEmpty() {
        return lasts.isEmpty();
    }

    /** The first watermark at which no event less than a gap after the last one of the oldest session can come. */
    long closesMs() {
        return Math.floorDiv(lasts.get(0) + gapUs - 1, 1_000L);
    }
}
