package dev.featuredsl.flink.redis;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/**
 * Tells from watermarks up to which period everything has passed a writer, and how the server records it. Each subtask
 * marks for itself; the script takes the earliest of all subtasks of this run of the job.
 */
final class Marks {
    private final SinkConfig config;
    private final byte[] key;
    private final byte[][] common;
    private long marked = Long.MIN_VALUE;

    Marks(SinkConfig config, String job, int subtask, int subtasks) {
        this.config = config;
        this.key = config.markKey.getBytes(StandardCharsets.UTF_8);
        this.common = new byte[][] {
            config.markField.getBytes(StandardCharsets.UTF_8),
            (job + "/" + subtasks).getBytes(StandardCharsets.UTF_8),
            Ascii.bytes(subtask),
            Ascii.bytes(subtasks)
        };
    }

    /** Those of a writer, or null where the table is not marked. */
    static Marks of(SinkConfig config, WriterInitContext context) {
        TaskInfo task = context.getTaskInfo();
        String job = context.getJobInfo().getJobId().toString();
        return config.markField.isEmpty()
                ? null
                : new Marks(config, job, task.getIndexOfThisSubtask(), task.getNumberOfParallelSubtasks());
    }

    /** The mark of a watermark, in milliseconds, or null where it closes no further period (or is the end of all input). */
    MarkWrite at(long watermarkMillis) {
        if (watermarkMillis == Long.MAX_VALUE || watermarkMillis <= Long.MIN_VALUE / 1_000) {
            return null;
        }
        long passed = Math.multiplyExact(watermarkMillis + 1, 1_000L);
        long closed = passed - Math.floorMod(passed, config.markEveryMicros);
        if (closed <= marked) {
            return null;
        }
        marked = closed;
        return new MarkWrite(key, closed);
    }

    String script() {
        return "mark";
    }

    byte[][] commonArguments() {
        return common;
    }
}
