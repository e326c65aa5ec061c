package dev.featuredsl.flink.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ProcessTableFunction.OnTimerContext;
import org.apache.flink.table.functions.ProcessTableFunction.TimeContext;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;

class SessionFunctionTest {
    private static final long GAP = 2_500;

    /** One key of the function: its state, its timer, what came out. */
    private static final class Key {
        final SessionFunction function = new SessionFunction();
        final List<String> out = new ArrayList<>();
        Sessions state = new Sessions();
        Long timer;
        Long fired;
        long watermark = Long.MIN_VALUE;

        Key() {
            function.open(new FunctionContext(null));
            function.setCollector(new Collector<>() {
                @Override
                public void collect(Row row) {
                    out.add(row.getField(0) + ".." + row.getField(1) + "x" + row.getField(2));
                }

                @Override
                public void close() {}
            });
        }

        void event(long ts, boolean live) {
            function.eval(context(), state, Row.of("k", ts, 1L), GAP, "[{\"merge\":\"sum\"}]", 1 << 20, live);
        }

        void advance(long to) {
            watermark = to;
            while (timer != null && timer <= to) {
                fired = timer;
                timer = null;
                function.onTimer(context(), state);
            }
        }

        private OnTimerContext context() {
            return proxy(OnTimerContext.class, (name, arguments) -> {
                if (name.equals("timeContext")) {
                    return time();
                }
                assertEquals("clearAll", name);
                state = new Sessions();
                timer = null;
                return null;
            });
        }

        private TimeContext<?> time() {
            return proxy(TimeContext.class, (name, arguments) -> {
                switch (name) {
                    case "time":
                        return fired;
                    case "currentWatermark":
                        return watermark == Long.MIN_VALUE ? null : watermark;
                    default:
                        assertEquals("registerOnTime", name);
                        assertEquals("close", arguments[0]);
                        timer = (Long) arguments[1];
                        return null;
                }
            });
        }
    }

    private interface Answer {
        Object of(String name, Object[] arguments);
    }

    private static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> answer.of(method.getName(), arguments)));
    }

    @Test
    void aSessionComesOutOnceWhenTheWatermarkHasClosedIt() {
        Key key = new Key();
        key.event(1_000_000, false);
        key.event(1_002_499, false);
        key.event(1_004_999, false);
        key.advance(1_003);
        assertEquals(List.of(), key.out);
        key.advance(1_004); // the first one closes at 1004999 us
        assertEquals(List.of("1000000..1002499x2"), key.out);
        key.advance(5_000);
        assertEquals(List.of("1000000..1002499x2", "1004999..1004999x1"), key.out);
        assertTrue(key.state.isEmpty() && key.timer == null);
    }

    @Test
    void aLiveSessionComesOutAtEachEventToo() {
        Key key = new Key();
        key.event(0, true);
        key.event(3_000, true);
        key.event(1_500, true);
        key.advance(100);
        assertEquals(List.of("0..0x1", "3000..3000x1", "0..3000x3", "0..3000x3"), key.out);
    }

    @Test
    void anyWatermarksAndAnyOrderAheadOfThemGiveTheSessionsOfAllEvents() {
        Random random = new Random(11);
        for (int round = 0; round < 300; round++) {
            Key key = new Key();
            TreeSet<Long> seen = new TreeSet<>();
            for (int i = 0; i < 60; i++) {
                long low = key.watermark == Long.MIN_VALUE ? 0 : (key.watermark + 1) * 1_000;
                long ts = low + random.nextInt(9_000);
                if (seen.add(ts)) {
                    key.event(ts, false);
                }
                if (random.nextInt(3) == 0) {
                    key.advance(Math.max(key.watermark, 0) + random.nextInt(4));
                }
            }
            key.advance(Long.MAX_VALUE / 2);
            assertTrue(key.state.isEmpty() && key.timer == null);
            assertEquals(sessions(new ArrayList<>(seen)), key.out);
        }
    }

    private static List<String> sessions(List<Long> times) {
        List<String> found = new ArrayList<>();
        int from = 0;
        for (int i = 1; i <= times.size(); i++) {
            if (i == times.size() || times.get(i) - times.get(i - 1) >= GAP) {
                found.add(times.get(from) + ".." + times.get(i - 1) + "x" + (i - from));
                from = i;
            }
        }
        return found;
    }
}
