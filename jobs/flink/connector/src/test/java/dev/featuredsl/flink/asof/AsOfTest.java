package dev.featuredsl.flink.asof;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.featuredsl.flink.RankFunction;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction.Context;
import org.apache.flink.table.functions.ProcessTableFunction.OnTimerContext;
import org.apache.flink.table.functions.ProcessTableFunction.TimeContext;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One key: events (ts, name) and rows (price, kind), both of which may be null. */
class AsOfTest {
    private static final long COLUMNS = 2;
    private final TreeSet<Long> timers = new TreeSet<>();
    private final MapView<Long, Integer> counts = new MapView<>();
    private final MapView<String, Row> waiting = new MapView<>();
    private final MapView<Long, Row> versions = new MapView<>();
    private final List<Row> emitted = new ArrayList<>();
    private Long now;
    private Long watermark;
    private AsOf function;

    @BeforeEach
    void open() {
        function = new AsOf();
        function.setCollector(new Collector<>() {
            @Override
            public void collect(Row row) {
                assertEquals(now, Math.floorDiv(row.<Long>getFieldAs(0), 1000L), "rowtime is that of the event");
                emitted.add(row);
            }

            @Override
            public void close() {}
        });
    }

    private <T> T context(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, given) -> {
            switch (method.getName()) {
                case "timeContext":
                    return context(TimeContext.class);
                case "time":
                    return now;
                case "currentWatermark":
                    return watermark;
                case "registerOnTime":
                    timers.add((Long) given[0]);
                    return null;
                default:
                    throw new UnsupportedOperationException(method.getName());
            }
        }));
    }

    private void event(long ts, String name) throws Exception {
        now = Math.floorDiv(ts, 1000L);
        function.eval(
                context(Context.class), counts, waiting, versions, Row.of("k", ts, name, null, null, null, now), COLUMNS);
    }

    private void row(long from, Long price, String kind) throws Exception {
        now = Long.MAX_VALUE;
        String rank = new RankFunction().eval(from, price, kind);
        function.eval(
                context(Context.class), counts, waiting, versions, Row.of("k", from, null, rank, price, kind, now), COLUMNS);
    }

    private void watermark(long ms) throws Exception {
        watermark = ms;
        while (!timers.isEmpty() && timers.first() <= ms) {
            now = timers.pollFirst();
            function.onTimer(context(OnTimerContext.class), counts, waiting, versions);
        }
    }

    private static Row joined(long ts, String name, Long price, String kind) {
        return Row.of(ts, name, price, kind);
    }

    @Test
    void anEventHasTheRowOfItsOwnTimeToTheMicrosecond() throws Exception {
        event(10_499, "before");
        event(10_500, "at");
        event(20_000, "after");
        row(10_500, 5L, "book");
        row(20_001, 6L, "toy");
        assertEquals(List.of(), emitted);
        watermark(9);
        assertEquals(List.of(), emitted);
        watermark(20);
        assertEquals(
                List.of(joined(10_499, "before", null, null), joined(10_500, "at", 5L, "book"),
                        joined(20_000, "after", 5L, "book")),
                emitted);
        event(20_999, null);
        event(21_000, "last");
        watermark(21);
        assertEquals(joined(21_000, "last", 6L, "toy"), emitted.get(4));
        assertTrue(waiting.isEmpty() && counts.isEmpty());
    }

    @Test
    void ofRowsOfOneTimeTheGreatestCountsNullsLowest() throws Exception {
        row(1_000, 5L, null);
        row(1_000, 5L, "b");
        row(1_000, 5L, "a");
        row(1_000, null, "z");
        event(1_000, "e");
        row(2_000, null, null);
        event(2_000, "f");
        watermark(2);
        assertEquals(List.of(joined(1_000, "e", 5L, "b"), joined(2_000, "f", null, null)), emitted);
    }

    @Test
    void theNewestRowIsKeptAndOlderOnesGo() throws Exception {
        for (long from = 1_000; from <= 5_000; from += 1_000) {
            row(from, from, "x");
        }
        assertEquals(5, size());
        event(3_500, "e");
        watermark(3);
        assertEquals(3, size());
        row(500, 1L, "late");
        assertEquals(3, size());
        watermark(1_000_000);
        row(5_000, 5_000L, "y");
        assertEquals(1, size());
        event(2_000_000_000, "f");
        watermark(2_000_000);
        assertEquals(joined(2_000_000_000, "f", 5_000L, "y"), emitted.get(1));
        watermark(Long.MAX_VALUE);
        row(6_000, 1L, "z");
        assertEquals(2, size(), "at the end of time nothing has to be forgotten");
    }

    private int size() throws Exception {
        int found = 0;
        for (Long ignored : versions.keys()) {
            found++;
        }
        return found;
    }

    /** Rows up to 15 ms and events up to 30 ms out of order, the watermark behind both: each as of its time. */
    @Test
    void anyOrderGivesTheSameValues() throws Exception {
        Random random = new Random(11);
        for (int round = 0; round < 300; round++) {
            open();
            emitted.clear();
            List<long[]> records = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                records.add(new long[] {random.nextInt(200_000), i % 3 == 0 ? 1 : 0, random.nextInt(4), random.nextInt(15_000)});
            }
            List<long[]> sent = new ArrayList<>(records);
            sent.sort(Comparator.comparingLong(r -> r[0] + r[3]));
            watermark = null;
            for (long[] r : sent) {
                if (r[1] == 1) {
                    row(r[0], r[2], "k" + r[2]);
                } else {
                    event(r[0], "e" + r[2]);
                }
                watermark((r[0] + r[3]) / 1000 - 16);
            }
            watermark(1_000);
            List<Row> right = new ArrayList<>();
            for (long[] e : records) {
                if (e[1] == 0) {
                    right.add(expected(e, records));
                }
            }
            assertEquals(sorted(right), sorted(emitted));
            assertTrue(waiting.isEmpty() && counts.isEmpty() && timers.isEmpty());
            versions.clear();
        }
    }

    private static Row expected(long[] event, List<long[]> records) {
        long[] valid = null;
        for (long[] r : records) {
            if (r[1] == 1 && r[0] <= event[0]
                    && (valid == null || r[0] > valid[0] || r[0] == valid[0] && r[2] > valid[2])) {
                valid = r;
            }
        }
        return valid == null
                ? joined(event[0], "e" + event[2], null, null)
                : joined(event[0], "e" + event[2], valid[2], "k" + valid[2]);
    }

    private static List<String> sorted(List<Row> rows) {
        return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
    }
}
