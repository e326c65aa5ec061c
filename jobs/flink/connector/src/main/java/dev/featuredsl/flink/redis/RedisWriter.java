package dev.featuredsl.flink.redis;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes rows in batches from one IO thread, so that their order is kept. At a checkpoint everything is written before the
 * barrier passes, so the writer has no state; a replay after a failure meets the version guard of the script.
 */
final class RedisWriter implements SinkWriter<RowData> {
    private static final Logger LOG = LoggerFactory.getLogger(RedisWriter.class);
    private static final long FIRST_BACKOFF_MILLIS = 50;
    private static final long LAST_BACKOFF_MILLIS = 2_000;

    private final SinkConfig config;
    private final RowEncoder encoder;
    private final Marks marks;
    private final ScriptClient client;
    private final ScriptClient markClient;
    private final Pending pending;
    private final Thread io;
    private final Counter sent;
    private final Counter bytes;
    private final Counter refused;
    private final Counter wrong;
    private final Counter retries;
    private final Counter skipped;
    private final Counter tooLarge;

    RedisWriter(SinkConfig config, RowEncoder encoder, WriterInitContext context) {
        SinkWriterMetricGroup metrics = context.metricGroup();
        this.config = config;
        this.encoder = encoder;
        this.marks = Marks.of(config, context);
        this.client = new ScriptClient(config, encoder.script(), encoder.commonArguments());
        this.markClient = marks == null ? null : new ScriptClient(config, marks.script(), marks.commonArguments());
        this.pending = new Pending(config);
        this.sent = metrics.getNumRecordsSendCounter();
        this.bytes = metrics.getNumBytesSendCounter();
        this.refused = metrics.counter("rowsRefusedAsOlder");
        this.wrong = metrics.counter("rowsForForeignKeys");
        this.retries = metrics.counter("batchRetries");
        this.skipped = metrics.counter("rowsSkipped");
        this.tooLarge = metrics.counter("statesTooLarge");
        metrics.gauge("rowsMerged", pending::merged);
        this.io = new Thread(this::run, "featuredsl-redis-io");
        io.setDaemon(true);
        io.start();
    }

    /** Tiles and latest values only grow, so deletes and before-images are skipped. */
    @Override
    public void write(RowData row, Context context) throws InterruptedException {
        boolean gone = row.getRowKind() == RowKind.DELETE || row.getRowKind() == RowKind.UPDATE_BEFORE;
        Write write = gone ? null : encoder.encode(row);
        countTooLarge(row);
        if (write == null) {
            skipped.inc();
        } else {
            pending.add(write);
        }
    }

    /** A watermark comes after the rows that it closes a period for. */
    @Override
    public void writeWatermark(Watermark watermark) {
        MarkWrite mark = marks == null ? null : marks.at(watermark.getTimestamp());
        if (mark != null) {
            pending.mark(mark);
        }
    }

    private void countTooLarge(RowData row) {
        long leftOut = encoder.leftOut() - tooLarge.getCount();
        if (leftOut > 0) {
            if (tooLarge.getCount() == 0) {
                LOG.warn("a tile of {} under {} is over {} bytes: its large states are left out and their features "
                        + "degraded; the metric statesTooLarge counts them, this line comes once",
                        row.getString(0), config.keyPrefix, config.maxBytes);
            }
            tooLarge.inc(leftOut);
        }
    }

    @Override
    public void flush(boolean endOfInput) throws InterruptedException {
        pending.flush();
    }

    @Override
    public void close() throws IOException, InterruptedException {
        pending.close();
        closeClients();
        io.interrupt();
        io.join(config.timeoutMillis);
    }

    private void run() {
        try {
            for (List<Write> batch = pending.take(); batch != null; batch = pending.take()) {
                if (batch.get(0) instanceof MarkWrite) {
                    writeWithRetries(markClient, batch);
                } else {
                    count(batch, writeWithRetries(client, batch));
                }
                pending.done();
            }
        } catch (InterruptedException closing) {
            Thread.currentThread().interrupt();
        } catch (Throwable error) {
            pending.fail(error);
        } finally {
            closeClients();
        }
    }

    private void closeClients() {
        client.close();
        if (markClient != null) {
            markClient.close();
        }
    }

    private ScriptClient.Outcome writeWithRetries(ScriptClient to, List<Write> batch) throws InterruptedException {
        long giveUp = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(config.retryForMillis);
        long backoff = FIRST_BACKOFF_MILLIS;
        while (true) {
            try {
                return to.write(batch);
            } catch (RuntimeException error) {
                to.close();
                if (!Failures.passes(error) || System.nanoTime() > giveUp) {
                    throw error;
                }
                retries.inc();
                LOG.warn("Redis did not take {} rows, next try in {} ms: {}", batch.size(), backoff, error.toString());
                TimeUnit.MILLISECONDS.sleep(backoff);
                backoff = Math.min(LAST_BACKOFF_MILLIS, 2 * backoff);
            }
        }
    }

    private void count(List<Write> batch, ScriptClient.Outcome outcome) {
        sent.inc(outcome.written);
        refused.inc(outcome.refused);
        wrong.inc(outcome.wrong);
        batch.forEach(write -> bytes.inc(write.size()));
        if (outcome.wrong > 0) {
            LOG.warn("{} of {} rows skipped: their keys under {} hold another type or another definition's ring",
                    outcome.wrong, batch.size(), config.keyPrefix);
        }
    }
}
