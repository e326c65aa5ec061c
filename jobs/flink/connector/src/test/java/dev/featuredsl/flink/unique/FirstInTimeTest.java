package dev.featuredsl.flink.unique;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.featuredsl.flink.RankFunction;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction.Context;
import org.apache.flink.table.functions.ProcessTableFunction.OnTimerContext;
import org.apache.flink.table.functions.ProcessTableFunction.TimeContext;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FirstInTimeTest {
    private static final long WITHIN = 10_000L;
    private final TreeSet<Long> timers = new TreeSet<>();
    private final MapView<Long, Row[]> waiting = new MapView<>();
    private final List<Long> emitted = new ArrayList<>();
    private KeptTime kept = new KeptTime();
    private Long now;
    private FirstInTime function;

    @BeforeEach
    void open() {
        function = new FirstInTime();
        function.setCollector(
                new Collector<>() {
                    @Override
                    public void collect(Row row) {
                        assertEquals(now, Math.floorDiv(row.<Long>getFieldAs(0), 1000L), "rowtime is that of the row");
                        emitted.add(row.getFieldAs(1));
                    }

                    @Override
                    public void close() {}
                });
    }

    /** Contexts of one key, as far as the function uses them. */
    private <T> T context(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, given) -> {
            switch (method.getName()) {
                case "timeContext":
                    return context(TimeContext.class);
                case "time":
                    return now;
                case "registerOnTime":
                    timers.add((Long) given[0]);
                    return null;
                case "clearAllState":
                    kept = new KeptTime();
                    waiting.clear();
                    return null;
                default:
                    throw new UnsupportedOperationException(method.getName());
            }
        }));
    }

    private void send(long ts, long x) throws Exception {
        now = Math.floorDiv(ts, 1000L);
        Row row = Row.of("p", new RankFunction().eval(ts, x), ts, x, now);
        function.eval(context(Context.class), kept, waiting, row, WITHIN);
    }

    private void watermark(long ms) throws Exception {
        while (!timers.isEmpty() && timers.first() <= ms) {
            now = timers.pollFirst();
            function.onTimer(context(OnTimerContext.class), kept, waiting);
        }
    }

    @Test
    void theFirstByTimeAndRowIsTheEventWhateverCameFirst() throws Exception {
        send(20_500, 1);
        send(10_500, 8);
        send(10_500, 2);
        send(20_501, 4);
        assertEquals(List.of(), emitted);
        send(10_500, 2);
        assertEquals(2, waiting.get(10L).length);
        watermark(9);
        assertEquals(List.of(), emitted);
        watermark(10);
        assertEquals(List.of(2L), emitted);
        watermark(20);
        assertEquals(List.of(2L, 4L), emitted);
    }

    @Test
    void nothingIsLeftWhenNoRecordCanBeADuplicate() throws Exception {
        send(10_500, 1);
        watermark(19);
        assertEquals(10_500L, kept.at);
        send(20_500, 2);
        assertTrue(waiting.isEmpty(), "a certain duplicate does not wait");
        watermark(20);
        assertEquals(List.of(1L), emitted);
        assertTrue(kept.at == null && kept.withinUs == null && waiting.isEmpty() && timers.isEmpty());
        send(21_000, 3);
        watermark(40);
        assertEquals(List.of(1L, 3L), emitted);
        assertTrue(kept.at == null && timers.isEmpty());
    }

    /** After a restart event time begins anew, so a copy may come that is before the event that was taken. */
    @Test
    void anOlderCopyAfterARestartIsADuplicateAndMovesNothingBack() throws Exception {
        send(50_000, 1);
        watermark(50);
        send(40_000, 2);
        send(39_999, 3);
        watermark(50);
        assertEquals(List.of(1L, 3L), emitted);
        assertEquals(50_000L, kept.at);
        send(60_000, 4);
        assertTrue(waiting.isEmpty(), "within of the later one");
        kept.at = Long.MAX_VALUE;
        assertTrue(!kept.repeats(Long.MIN_VALUE) && kept.repeats(Long.MAX_VALUE - WITHIN));
        kept.at = Long.MIN_VALUE;
        assertTrue(!kept.repeats(Long.MAX_VALUE) && kept.repeats(Long.MIN_VALUE + WITHIN));
    }

    /** In any order that is not late: what a fold over all records by time and row keeps. */
    @Test
    void anyOrderGivesTheSameEvents() throws Exception {
        Random random = new Random(4);
        for (int round = 0; round < 500; round++) {
            List<Map.Entry<Long, Long>> records = new ArrayList<>();
            for (long i = 0; i < 20; i++) {
                records.add(Map.entry((long) random.nextInt(100_000), i));
            }
            emitted.clear();
            List<Map.Entry<Long, Map.Entry<Long, Long>>> sent = new ArrayList<>();
            records.forEach(record -> sent.add(Map.entry(record.getKey() + random.nextInt(30_000), record)));
            sent.sort(Map.Entry.comparingByKey());
            for (Map.Entry<Long, Map.Entry<Long, Long>> entry : sent) {
                Map.Entry<Long, Long> record = entry.getValue();
                send(record.getKey(), record.getValue());
                watermark(record.getKey() / 1000 - 31);
            }
            watermark(1000);
            assertEquals(folded(records), emitted);
            assertTrue(waiting.isEmpty() && kept.at == null && timers.isEmpty());
        }
    }

    private static List<Long> folded(List<Map.Entry<Long, Long>> records) {
        List<Map.Entry<Long, Long>> sorted = new ArrayList<>(records);
        sorted.sort(Map.Entry.<Long, Long>comparingByKey().thenComparing(Map.Entry.comparingByValue()));
        List<Long> found = new ArrayList<>();
        Long last = null;
        for (Map.Entry<Long, Long> record : sorted) {
            if (last == null || record.getKey() > last + WITHIN) {
                last = record.getKey();
                found.add(record.getValue());
            }
        }
        return found;
    }
}
