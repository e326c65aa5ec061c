package dev.featuredsl.flink.redis;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes between the task thread and the IO thread: bounded, in order of arrival, one per place (a later write to the same
 * place merges into the one that waits).
 */
final class Pending {
    private final int batch;
    private final int limit;
    private final long lingerNanos;
    private final Map<Write, Write> waiting = new LinkedHashMap<>();
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
        while (waiting.size() >= limit && failure == null) {
            wait();
        }
        rethrow();
        Write earlier = waiting.get(write);
        if (earlier != null) {
            waiting.put(write, earlier.merge(write));
            merged++;
            return;
        }
        if (waiting.isEmpty()) {
            oldestNanos = System.nanoTime();
        }
        waiting.put(write, write);
        if (waiting.size() == 1 || waiting.size() == batch) {
            notifyAll();
        }
    }

    /** Waits until everything added so far stands in Redis. */
    synchronized void flush() throws InterruptedException {
        urgent = true;
        notifyAll();
        while ((!waiting.isEmpty() || inFlight > 0) && failure == null) {
            wait();
        }
        urgent = false;
        rethrow();
    }

    /** The next batch, for the IO thread: full, or lingered long enough, or asked for; null when closed. */
    synchronized List<Write> take() throws InterruptedException {
        while (!closed) {
            long left = lingerNanos - (System.nanoTime() - oldestNanos);
            if (waiting.isEmpty()) {
                wait();
            } else if (urgent || waiting.size() >= batch || left <= 0) {
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
        while (values.hasNext() && out.size() < batch) {
            out.add(values.next());
            values.remove();
        }
        inFlight = out.size();
        oldestNanos = System.nanoTime();
        notifyAll();
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
