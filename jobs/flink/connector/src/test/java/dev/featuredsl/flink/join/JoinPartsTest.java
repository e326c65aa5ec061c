package dev.featuredsl.flink.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The parts of the join that need no running job; the functions themselves run in the integration test. */
class JoinPartsTest {
    @Test
    void versionsAnswerAsOfATime() {
        Versions versions = new Versions();
        versions.add(30, "c");
        versions.add(10, "a");
        versions.add(20, null);
        assertNull(versions.asOf(9));
        assertEquals("a", versions.asOf(10));
        assertEquals("a", versions.asOf(19));
        assertNull(versions.asOf(20));
        assertEquals("c", versions.asOf(Long.MAX_VALUE));
    }

    @Test
    void amongEqualTimesTheLaterVersionWins() {
        Versions versions = new Versions();
        versions.add(10, "first");
        versions.add(10, "second");
        assertEquals("second", versions.asOf(10));
        assertEquals(1, versions.times.size());
    }

    @Test
    void pruningKeepsWhatTheHorizonStillSees() {
        Versions versions = new Versions();
        for (long ts = 10; ts <= 50; ts += 10) {
            versions.add(ts, "v" + ts);
        }
        versions.prune(35);
        assertEquals(List.of(30L, 40L, 50L), versions.times);
        assertEquals("v30", versions.asOf(35));
        versions.prune(5);
        assertEquals(3, versions.times.size());
    }

    @Test
    void timersFireWhenEveryRecordUpToTheMicrosecondIsKnown() {
        assertEquals(2, Times.timer(2_000));
        assertEquals(3, Times.timer(2_001));
        assertEquals(-1, Times.timer(-1_999));
        assertTrue(Times.passed(2L, 2_000));
        assertFalse(Times.passed(2L, 2_001));
        assertFalse(Times.passed(null, 0));
    }

    @Test
    void clicksAndCatalogAreJson() throws Exception {
        Attached click = Attached.of("click", 5, "a\"b", 2.5, null);
        Attached plain = Attached.of("click", 6, "1", null, null);
        assertEquals("[[\"a\\\"b\",5,2.5],[\"1\",6,null]]", Json.clicks(List.of(click, plain)));
        Map<String, String> items = new LinkedHashMap<>();
        items.put("a\\b", "{\"p\":1}");
        assertEquals("{\"a\\\\b\":{\"p\":1}}", Json.object(items));
    }

    @Test
    void candidatesAreReadWhereverTheyStand() throws Exception {
        String impression = "{\"context\":{\"candidates\":[{\"action_id\":\"no\"}]},\"candidates\":"
                + "[{\"features\":{\"action_id\":\"no\"},\"action_id\":\"a\"},{\"action_id\":\"\\u00e9\"}],\"ts\":1}";
        assertEquals(List.of("a", "é"), Json.candidates(impression));
    }

    @Test
    void onlyRepeatsOfARecordHaveItsIdentity() {
        String identity = Attached.of("click", 5, "1", null, null).identity();
        assertEquals(identity, Attached.of("click", 5, "1", null, "other text").identity());
        assertNotEquals(identity, Attached.of("click", 6, "1", null, null).identity());
        assertNotEquals(identity, Attached.of("click", 5, "2", null, null).identity());
        assertNotEquals(identity, Attached.of("click", 5, "1", 1.0, null).identity());
        assertNotEquals(identity, Attached.of("activation", 5, "1", null, null).identity());
    }
}
