package dev.featuredsl.flink.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.configuration.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PendingTest {
    private static Pending pending(String lingerMillis) {
        return pending(lingerMillis, "0", "4");
    }

    private static Pending pending(String lingerMillis, String holdMillis, String limit) {
        return new Pending(new SinkConfig(Configuration.fromMap(Map.of("url", "redis://h", "mode", "fields", "key-prefix", "g@v1:",
                "fields", "l:a", "batch", "3", "max-pending", limit, "linger", lingerMillis + " ms",
                "hold", holdMillis + " ms"))));
    }

    private static Write write(int key, long rows) {
        return write(key, rows, 0);
    }

    private static Write write(int key, long rows, long micros) {
        return new TileWrite(ByteBuffer.allocate(4).putInt(key).array(), micros, 0, 7, rows, new byte[] {(byte) rows});
    }

    private static long nowMicros() {
        return System.currentTimeMillis() * 1_000;
    }

    private static CompletableFuture<List<Write>> take(Pending pending) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return pending.take();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void fullBatchesOfOldEventsAreHeldAndMerge() throws Exception {
        Pending pending = pending("0", "600", "100");
        long start = System.nanoTime();
        for (int key = 1; key <= 4; key++) {
            pending.add(write(key, 1));
        }
        CompletableFuture<List<Write>> batch = take(pending);
        assertWaits(batch);
        while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(450)) {
            pending.add(write(2, 5));
            assertFalse(batch.isDone());
            Thread.sleep(50);
        }
        List<Write> taken = batch.get(5, TimeUnit.SECONDS);
        assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(600));
        assertEquals(List.of(write(1, 0), write(2, 0), write(3, 0)), taken);
        assertEquals(5, taken.get(1).arguments()[0][0]);
        assertTrue(pending.merged() > 0);
        assertEquals(List.of(write(4, 0)), pending.take()); // what is left of it is no full batch: nothing to wait for
    }

    @Test
    void fewRowsAndFreshOnesAreNotHeld() throws Exception {
        Pending pending = pending("0", "60000", "100");
        pending.add(write(1, 1));
        pending.add(write(2, 1));
        assertEquals(2, take(pending).get(5, TimeUnit.SECONDS).size());
        for (int key = 1; key <= 3; key++) {
            pending.add(write(key, 1));
        }
        CompletableFuture<List<Write>> batch = take(pending);
        assertWaits(batch);
        pending.add(write(4, 1, nowMicros()));
        assertEquals(3, batch.get(5, TimeUnit.SECONDS).size());
    }

    @Test
    void aHeldWriteGoesForAMarkACheckpointAndWhenManyWait() throws Exception {
        Pending pending = pending("0", "60000", "8");
        for (int key = 1; key <= 3; key++) {
            pending.add(write(key, 1));
        }
        CompletableFuture<List<Write>> batch = take(pending);
        assertWaits(batch);
        pending.add(write(4, 1));
        assertEquals(3, batch.get(5, TimeUnit.SECONDS).size());
        pending.done();
        for (int key = 5; key <= 6; key++) {
            pending.add(write(key, 1));
        }
        batch = take(pending);
        assertWaits(batch);
        pending.mark(mark(60));
        assertEquals(3, batch.get(5, TimeUnit.SECONDS).size());
        pending.done();
        assertEquals("60", microsOf(pending.take()));
        pending.done();
        for (int key = 1; key <= 3; key++) {
            pending.add(write(key, 1));
        }
        batch = take(pending);
        assertWaits(batch);
        CompletableFuture<Void> flush = async(pending::flush);
        assertEquals(3, batch.get(5, TimeUnit.SECONDS).size());
        assertWaits(flush);
        pending.done();
        flush.get(5, TimeUnit.SECONDS);
    }

    @Test
    void nothingIsHeldOnceNoWriteComesAnyMore() throws Exception {
        Pending pending = pending("0", "60000", "100");
        for (int key = 1; key <= 3; key++) {
            pending.add(write(key, 1));
        }
        CompletableFuture<List<Write>> batch = take(pending);
        assertWaits(batch);
        assertEquals(3, batch.get(5, TimeUnit.SECONDS).size());
    }

    private interface Step {
        void run() throws InterruptedException;
    }

    private static CompletableFuture<Void> async(Step step) {
        return CompletableFuture.runAsync(() -> {
            try {
                step.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static void assertWaits(CompletableFuture<?> future) {
        assertThrows(TimeoutException.class, () -> future.get(100, TimeUnit.MILLISECONDS));
    }

    private static Write mark(long micros) {
        return new MarkWrite(new byte[] {1}, micros);
    }

    private static String microsOf(List<Write> batch) {
        return new String(batch.get(0).arguments()[0], StandardCharsets.US_ASCII);
    }

    @Test
    void aMarkGoesOutWhenNoWriteWaitsAndTheLatestCounts() throws Exception {
        Pending pending = pending("0");
        for (int key = 1; key <= 4; key++) {
            pending.add(write(key, 1));
            if (key == 1) {
                pending.mark(mark(60));
            }
        }
        assertEquals(3, pending.take().size());
        pending.done();
        pending.mark(mark(180));
        pending.mark(mark(120));
        assertEquals(List.of(write(4, 0)), pending.take());
        pending.done();
        CompletableFuture<Void> flush = async(pending::flush);
        assertWaits(flush);
        assertEquals("180", microsOf(pending.take()));
        assertWaits(flush);
        pending.done();
        flush.get(1, TimeUnit.SECONDS);
    }

    @Test
    void aFullBatchGoesInOrderOfArrivalAndAPlaceMerges() throws Exception {
        Pending pending = pending("60000");
        pending.add(write(1, 1));
        pending.add(write(2, 1));
        pending.add(write(1, 5));
        pending.add(write(3, 1));
        List<Write> batch = pending.take();
        assertEquals(List.of(write(1, 0), write(2, 0), write(3, 0)), batch);
        assertEquals(1, pending.merged());
    }

    @Test
    void aPartBatchGoesAfterTheLinger() throws Exception {
        Pending pending = pending("20");
        long start = System.nanoTime();
        pending.add(write(1, 1));
        assertEquals(1, pending.take().size());
        assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(20));
    }

    @Test
    void flushWaitsForTheBatchInFlightToo() throws Exception {
        Pending pending = pending("60000");
        pending.add(write(1, 1));
        CompletableFuture<Void> flush = async(pending::flush);
        assertEquals(1, pending.take().size());
        assertWaits(flush);
        pending.done();
        flush.get(5, TimeUnit.SECONDS);
        pending.flush();
    }

    @Test
    void aFullBufferHoldsTheTaskBack() throws Exception {
        Pending pending = pending("60000");
        for (int key = 0; key < 4; key++) {
            pending.add(write(key, 1));
        }
        CompletableFuture<Void> fifth = async(() -> pending.add(write(9, 1)));
        assertWaits(fifth);
        assertEquals(3, pending.take().size());
        fifth.get(5, TimeUnit.SECONDS);
    }

    private static Write large(int key, int bytes) {
        return new TileWrite(ByteBuffer.allocate(4).putInt(key).array(), 0, 0, 7, 1, new byte[bytes]);
    }

    @Test
    void largeValuesMakeSmallBatches() throws Exception {
        Pending pending = pending("60000");
        int half = (int) Pending.BATCH_BYTES / 2;
        pending.add(large(1, half));
        pending.add(large(2, half));
        pending.add(large(3, half));
        assertEquals(2, pending.take().size());
        CompletableFuture<List<Write>> rest = take(pending);
        assertWaits(rest);
        pending.add(large(3, 2 * half));
        assertEquals(1, rest.get(5, TimeUnit.SECONDS).size());
    }

    @Test
    void bytesHoldTheTaskBackToo() throws Exception {
        Pending pending = pending("60000");
        int half = (int) Pending.LIMIT_BYTES / 2;
        pending.add(large(1, half));
        pending.add(large(2, half));
        CompletableFuture<Void> third = async(() -> pending.add(large(3, 1)));
        assertWaits(third);
        assertEquals(1, pending.take().size());
        third.get(5, TimeUnit.SECONDS);
    }

    @Test
    void aFailureReachesTheTask() throws Exception {
        Pending pending = pending("60000");
        pending.add(write(1, 1));
        CompletableFuture<Void> flush = async(pending::flush);
        assertEquals(1, pending.take().size());
        pending.fail(new IllegalStateException("WRONGPASS"));
        ExecutionException thrown = assertThrows(ExecutionException.class, () -> flush.get(5, TimeUnit.SECONDS));
        assertTrue(thrown.getCause().getMessage().contains("WRONGPASS"));
        assertThrows(IllegalStateException.class, () -> pending.add(write(2, 1)));
    }

    @Test
    void closeEndsTheIoThread() throws Exception {
        Pending pending = pending("60000");
        CompletableFuture<List<Write>> taken = take(pending);
        assertFalse(taken.isDone());
        pending.close();
        assertNull(taken.get(5, TimeUnit.SECONDS));
    }
}
