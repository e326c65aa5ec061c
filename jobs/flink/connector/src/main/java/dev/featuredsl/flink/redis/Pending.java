package dev.featuredsl.flink.redis;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes between the task thread and the IO thread: bounded, in order of arrival, one per place (a later write to the same
 * place merges into the one that waits). A mark waits until everything before it stands in Redis.
 */
final class Pending {
    /** Large values make smaller batches, which hold the server up for a shorter time. */
    static final long BATCH_BYTES = 4L << 20;
    /** So much waits at most, however large the values are (and one write more). */
    static final long LIMIT_BYTES = 64L << 20;

    private final int batch;
    private final int limit;
    private final long lingerNanos;
    private final Map<Write, Write> waiting = new LinkedHashMap<>();
    private Write mark;
    private long waitingBytes;
    private int inFlight;
    private boolean urgent;
    private boolean closed;
    private long oldestNanos;
    private Throwable failure;
    private long merged;

    Pending(SinkConfig config) {
        this.batch = config.batch;
        this.limit = config.maxPending;
        this.lingerNanos = config.lingerNanos;
    }

    /** Adds a write; waits while the buffer is full. Throws what stopped the IO thread. */
    synchronized void add(Write write) throws InterruptedException {
        while ((waiting.size() >= limit || waitingBytes >= LIMIT_BYTES) && failure == null) {
            wait();
        }
        rethrow();
        boolean first = waiting.isEmpty();
        boolean wasFull = isFull();
        Write earlier = waiting.get(write);
        if (earlier != null) {
            Write both = earlier.merge(write);
            waiting.put(write, both);
            waitingBytes += both.size() - earlier.size();
            merged++;
        } else {
            if (first) {
                oldestNanos = System.nanoTime();
            }
            waiting.put(write, write);
            waitingBytes += write.size();
        }
        if (first || (!wasFull && isFull())) {
            notifyAll();
        }
    }

    /** Adds a mark, which goes out when no write waits; only the latest counts. Throws what stopped the IO thread. */
    synchronized void mark(Write later) {
        rethrow();
        mark = mark == null ? later : mark.merge(later);
        notifyAll();
    }

    private boolean isFull() {
        return waiting.size() >= batch || waitingBytes >= BATCH_BYTES;
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
            long left = lingerNanos - (System.nanoTime() - oldestNanos);
            if (waiting.isEmpty() && mark != null) {
                return nextMark();
            } else if (waiting.isEmpty()) {
                wait();
            } else if (urgent || isFull() || left <= 0) {
                return next();
            } else {
                wait(left / 1_000_000, (int) (left % 1_000_000));
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
        oldestNanos = System.nanoTime();
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
