package dev.featuredsl.flink.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.Test;

class SessionsTest {
    private static final Counter NONE = new SimpleCounter();
    private static final Parts SUM = new Parts("[{\"merge\": \"sum\"}]");

    private static Sessions of(long gapUs) {
        Sessions made = new Sessions();
        made.gapUs = gapUs;
        made.maxBytes = 1 << 20;
        return made;
    }

    private static void add(Sessions to, long... times) {
        for (long ts : times) {
            to.add(ts, SUM, Row.of("k", ts, 1L), 2);
        }
    }

    private static String shown(Sessions sessions) {
        List<String> out = new ArrayList<>();
        for (int i = 0; i < sessions.firsts.size(); i++) {
            out.add(sessions.firsts.get(i) + ".." + sessions.lasts.get(i) + "x" + sessions.rows.get(i));
        }
        return String.join(" ", out);
    }

    @Test
    void aGapOfExactlyTheLengthStartsASessionAMicrosecondLessDoesNot() {
        Sessions sessions = of(10_000);
        add(sessions, 0, 10_000, 19_999, 29_999);
        assertEquals("0..0x1 10000..19999x2 29999..29999x1", shown(sessions));
        Sessions backwards = of(10_000);
        add(backwards, 29_999, 19_999, 10_000, 0);
        assertEquals(shown(sessions), shown(backwards));
    }

    @Test
    void anEventBetweenTwoSessionsJoinsThem() {
        Sessions sessions = of(10);
        add(sessions, 0, 15, 40, 15);
        assertEquals("0..0x1 15..15x2 40..40x1", shown(sessions));
        add(sessions, 9);
        assertEquals("0..15x4 40..40x1", shown(sessions));
        add(sessions, 25, 30);
        assertEquals("0..15x4 25..30x2 40..40x1", shown(sessions));
        add(sessions, 31);
        assertEquals("0..15x4 25..40x4", shown(sessions));
        assertEquals(4, ((Total) Cells.read(sessions.parts.get(1), 1)[0]).low);
    }

    @Test
    void aSessionIsClosedByTheMillisecondAfterWhichNoEventCanJoinIt() {
        Sessions sessions = of(2_000);
        add(sessions, 999, -5_000_500);
        assertEquals(-4_999, sessions.closesMs()); // its last millisecond: events up to -4998501 would join
        assertEquals(List.of(), sessions.closed(-5_000, NONE));
        assertEquals(1, sessions.closed(-4_999, NONE).size());
        assertEquals(2, sessions.closesMs()); // an event of 2998 us would join, and its millisecond is 2
        assertEquals(List.of(), sessions.closed(1, NONE));
        Row record = sessions.closed(2, NONE).get(0);
        assertEquals(List.of(999L, 999L, 1L), List.of(record.getField(0), record.getField(1), record.getField(2)));
        assertTrue(sessions.isEmpty());
        add(sessions, 1_000);
        assertEquals(2, sessions.closesMs()); // an event of 3000 us starts another
    }

    @Test
    void anyOrderGivesTheSessionsOfTheSortedEvents() {
        Random random = new Random(7);
        for (int round = 0; round < 500; round++) {
            long gap = 1 + random.nextInt(8);
            List<Long> times = new ArrayList<>();
            for (int i = random.nextInt(25); i >= 0; i--) {
                times.add((long) random.nextInt(100) - 50);
            }
            Sessions sessions = of(gap);
            times.forEach(ts -> add(sessions, ts));
            Collections.sort(times);
            List<String> expected = new ArrayList<>();
            int from = 0;
            for (int i = 1; i <= times.size(); i++) {
                if (i == times.size() || times.get(i) - times.get(i - 1) >= gap) {
                    expected.add(times.get(from) + ".." + times.get(i - 1) + "x" + (i - from));
                    from = i;
                }
            }
            assertEquals(String.join(" ", expected), shown(sessions));
        }
    }
}
