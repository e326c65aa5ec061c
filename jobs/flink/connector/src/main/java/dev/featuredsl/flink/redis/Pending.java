package dev.featuredsl.flink.redis;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes between the task thread and the IO thread: bounded, in order of arrival, one per place (a later write to the same
 * place merges into the one that waits). A mark waits until everything before it stands in Redis.
 *
 * <p>While many writes wait and the newest event is old, the job works off a backlog: there a write is held for a part of that
 * age, so that later ones merge into it. Nothing gets noticeably older by it, and Redis takes a part of the rows.
 */
final class Pending {
    /** Large values make smaller batches, which hold the server up for a shorter time. */
    static final long BATCH_BYTES = 4L << 20;
    /** So much waits at most, however large the values are (and one write more). */
    static final long LIMIT_BYTES = 64L << 20;
    /** A held write waits for this part of the age of the newest event. */
    private static final long HELD_PART = 20;
    /** No write is held for later ones once none has come for so long; mini-batches bring them every 50 ms unless told. */
    private static final long QUIET_NANOS = 300_000_000;
    /** Events may become fresh while one is held. */
    private static final long LONGEST_NAP_NANOS = 20_000_000;

    private final int batch;
    private final int limit;
    private final long lingerNanos;
    private final long holdNanos;
    private final Map<Write, Write> waiting = new LinkedHashMap<>();
    private Write mark;
    private long waitingBytes;
    private int inFlight;
    private boolean urgent;
    private boolean closed;
    private long newestMicros = Long.MIN_VALUE;
    private long addedNanos;
    private Throwable failure;
    private long merged;

    Pending(SinkConfig config) {
        this.batch = config.batch;
        this.limit = config.maxPending;
        this.lingerNanos = config.lingerNanos;
        this.holdNanos = config.holdNanos;
    }

    /** Adds a write; waits while the buffer is full. Throws what stopped the IO thread. */
    synchronized void add(Write write) throws InterruptedException {
        while ((waiting.size() >= limit || waitingBytes >= LIMIT_BYTES) && failure == null) {
            wait();
        }
        rethrow();
        boolean wasCrowded = isCrowded();
        addedNanos = System.nanoTime();
        newestMicros = Math.max(newestMicros, write.micros);
        Write earlier = waiting.putIfAbsent(write, write);
        if (earlier != null) {
            waitingBytes -= earlier.size();
            earlier.merge(write);
            waitingBytes += earlier.size();
            merged++;
        } else {
            write.sinceNanos = addedNanos;
            waitingBytes += write.size();
        }
        if (waiting.size() == 1 || (!wasCrowded && isCrowded())) {
            notifyAll();
        }
    }

    /** Adds a mark, which goes out when no write waits; only the latest counts. Throws what stopped the IO thread. */
    synchronized void mark(Write later) {
        rethrow();
        if (mark == null) {
            mark = later;
        } else {
            mark.merge(later);
        }
        notifyAll();
    }

    private boolean isCrowded() {
        return 2 * waiting.size() >= limit || 2 * waitingBytes >= LIMIT_BYTES;
    }

    /** How much longer the first write may wait as things stand. */
    private long leftNanos() {
        if (urgent || mark != null || isCrowded()) {
            return 0;
        }
        long now = System.nanoTime();
        long waited = now - waiting.values().iterator().next().sinceNanos;
        boolean full = waiting.size() >= batch || waitingBytes >= BATCH_BYTES;
        if (!full) {
            return lingerNanos - waited;
        }
        return Math.min(Math.min(holdNanos, ageNanos() / HELD_PART) - waited, QUIET_NANOS - (now - addedNanos));
    }

    private long ageNanos() {
        long micros = System.currentTimeMillis() * 1_000 - newestMicros;
        return micros < 0 ? 0 : Math.min(micros, Long.MAX_VALUE / 1_000) * 1_000;
    }

    /** Waits until everything added so far stands in Redis. */
    synchronized void flush() throws InterruptedException {
        urgent = true;
        notifyAll();
        while ((!waiting.isEmpty() || mark != null || inFlight > 0) && failure == null) {
            wait();
        }
        urgent = false;
        rethrow();
    }

    /** The next batch, for the IO thread: full, or lingered long enough, or asked for; null when closed. */
    synchronized List<Write> take() throws InterruptedException {
        while (!closed) {
            if (waiting.isEmpty() && mark != null) {
                return nextMark();
            } else if (waiting.isEmpty()) {
                wait();
            } else {
                long left = leftNanos();
                if (left <= 0) {
                    return next();
                }
                long nap = Math.min(left, LONGEST_NAP_NANOS);
                wait(nap / 1_000_000, (int) (nap % 1_000_000));
            }
        }
        return null;
    }

    private List<Write> next() {
        List<Write> out = new ArrayList<>(Math.min(batch, waiting.size()));
        Iterator<Write> values = waiting.values().iterator();
        long bytes = 0;
        while (values.hasNext() && out.size() < batch && bytes < BATCH_BYTES) {
            Write write = values.next();
            out.add(write);
            bytes += write.size();
            values.remove();
        }
        waitingBytes -= bytes;
        inFlight = out.size();
        notifyAll();
        return out;
    }

    private List<Write> nextMark() {
        List<Write> out = List.of(mark);
        mark = null;
        inFlight = 1;
        return out;
    }

    /** The batch that was taken stands in Redis. */
    synchronized void done() {
        inFlight = 0;
        notifyAll();
    }

    /** The IO thread gives up. */
    synchronized void fail(Throwable error) {
        failure = error;
        notifyAll();
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized long merged() {
        return merged;
    }

    private void rethrow() {
        if (failure != null) {
            throw new IllegalStateException("writing to Redis failed: " + failure.getMessage(), failure);
        }
    }
}
