package dev.featuredsl.flink.unique;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FirstArrivalTest {
    private static final long MINUTE = 60_000_000L;
    private final Clock clock = new Clock();
    private final MapView<String, byte[]> firsts = new MapView<>();
    private final List<String> outcomes = new ArrayList<>();
    private FirstArrival function;

    @BeforeEach
    void open() {
        function = new FirstArrival();
        function.setCollector(
                new Collector<>() {
                    @Override
                    public void collect(Row row) {
                        outcomes.add(Objects.toString(row.getField(0)));
                    }

                    @Override
                    public void close() {}
                });
    }

    private void send(String key, long at, Long tie, long ktimeUs) throws Exception {
        Row row = Row.withNames();
        row.setField("_key", key);
        row.setField("_at", at);
        row.setField("_tie", tie);
        row.setField("_ktime", Instant.ofEpochMilli(ktimeUs / 1000));
        function.eval(clock, firsts, row, 10 * MINUTE, 70 * MINUTE);
    }

    private void send(String key, long at) throws Exception {
        send(key, at, null, at);
    }

    @Test
    void aRecordExactlyWithinIsADuplicateAndALaterOneIsAnEvent() throws Exception {
        send("p", 0);
        send("p", 5 * MINUTE);
        send("p", 10 * MINUTE);
        send("q", 10 * MINUTE);
        send("p", 10 * MINUTE + 1);
        send("p", 20 * MINUTE + 1);
        send("p", 20 * MINUTE + 2);
        assertEquals(
                List.of("null", "duplicate", "duplicate", "null", "null", "duplicate", "null"), outcomes);
    }

    @Test
    void anEarlierCopyThatComesLaterIsADuplicateAndSaysSo() throws Exception {
        send("p", 30 * MINUTE, 5L, 0);
        send("p", 30 * MINUTE - 1, 9L, 0);
        send("p", 30 * MINUTE, 4L, 0);
        send("p", 30 * MINUTE, 5L, 0);
        send("p", 30 * MINUTE, null, 0);
        send("p", 20 * MINUTE, 1L, 0);
        send("p", 20 * MINUTE - 1, 1L, 0);
        assertEquals(
                List.of(
                        "null", "duplicate_earlier", "duplicate_earlier", "duplicate", "duplicate_earlier",
                        "duplicate_earlier", "null"),
                outcomes);
    }

    @Test
    void aKeyIsForgottenByTheTimeOfTheRecordsAndNotBefore() throws Exception {
        send("old", 0);
        for (long at = 0; at <= 70 * MINUTE; at += MINUTE / 2) {
            send("other" + at, at);
        }
        send("old", 9 * MINUTE);
        assertEquals("duplicate", outcomes.get(outcomes.size() - 1));
        send("next", 80 * MINUTE);
        assertTrue(!firsts.contains("old"));
        assertTrue(firsts.contains("other" + 10 * MINUTE));
        assertTrue(!firsts.contains("other" + (10 * MINUTE - MINUTE / 2)));
    }

    @Test
    void theStateOfManyKeysIsBounded() throws Exception {
        for (int i = 0; i < 20_000; i++) {
            send("k" + i, i * 10_000_000L);
        }
        assertEquals(Set.of("null"), new HashSet<>(outcomes));
        int kept = 0;
        for (String ignored : firsts.keys()) {
            kept++;
        }
        assertTrue(kept >= 420 && kept <= 420 * 9 / 8 + 1, "kept " + kept);
    }

    @Test
    void aTimeFarAheadOfItsKafkaRecordDoesNotMakeOthersForgotten() throws Exception {
        send("p", 0, null, 0);
        send("q", Long.MAX_VALUE, null, 0);
        send("r", Long.MAX_VALUE - 1, null, 30 * MINUTE);
        send("p", 10 * MINUTE, null, 30 * MINUTE);
        send("s", Long.MIN_VALUE, null, 30 * MINUTE);
        send("s", Long.MAX_VALUE, null, Long.MAX_VALUE);
        assertEquals(List.of("null", "null", "null", "duplicate", "null", "null"), outcomes);
    }

    /** In any order, kept records of a key are further apart than within, and every other is within of one. */
    @Test
    void keptRecordsAreApartInAnyOrder() {
        Random random = new Random(3);
        for (int round = 0; round < 2000; round++) {
            byte[] state = null;
            Set<Long> kept = new HashSet<>();
            for (int i = 0; i < 12; i++) {
                long time = random.nextInt(40) - 20;
                Firsts firsts = Firsts.read(state);
                String outcome = firsts.take(time, 0, 5);
                boolean near = kept.stream().anyMatch(other -> Math.abs(other - time) <= 5);
                boolean after = kept.stream().anyMatch(other -> other <= time && time - other <= 5);
                assertEquals(near ? after ? "duplicate" : "duplicate_earlier" : null, outcome);
                if (outcome == null) {
                    kept.add(time);
                    state = firsts.write();
                }
            }
        }
    }
}
