package dev.featuredsl.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.data.TimestampData;
import org.junit.jupiter.api.Test;

class FunctionsTest {
    private final KeyFunction key = new KeyFunction();
    private final RankFunction rank = new RankFunction();

    @Test
    void keysFollowTheGoldenVectors() throws Exception {
        for (JsonNode golden : Golden.read("online/keys")) {
            Object[] parts = new Object[golden.get("parts").size()];
            for (int i = 0; i < parts.length; i++) {
                String kind = golden.get("parts").get(i).fieldNames().next();
                parts[i] = Golden.value(kind, golden.get("parts").get(i).get(kind));
            }
            assertEquals(golden.get("key").textValue(), key.eval(parts));
        }
    }

    @Test
    void aNullPartHasNoKey() {
        assertNull(key.eval("a", null));
        assertThrows(IllegalArgumentException.class, () -> key.eval(1.5));
        assertThrows(IllegalArgumentException.class, key::eval);
    }

    @Test
    void anAgeIsExactAndNeverWraps() {
        AgeFunction age = new AgeFunction();
        TimestampData record = TimestampData.fromEpochMillis(1_700_000_000_123L);
        assertEquals(60_000_001L, age.eval(1_699_999_940_122_999L, record));
        assertEquals(-60_000_001L, age.eval(1_700_000_060_123_001L, record));
        assertEquals(0L, age.eval(-1_000L, TimestampData.fromEpochMillis(-1)));
        assertEquals(Long.MAX_VALUE, age.eval(Long.MIN_VALUE, record));
        assertEquals(Long.MIN_VALUE, age.eval(Long.MAX_VALUE, TimestampData.fromEpochMillis(-2)));
        assertEquals(1_700_000_000_123_000L - Long.MAX_VALUE, age.eval(Long.MAX_VALUE, record));
        assertNull(age.eval(null, record));
        assertNull(age.eval(1L, null));
    }

    private String rankOf(Object time, Object... values) {
        Object[] all = new Object[values.length + 1];
        all[0] = time;
        System.arraycopy(values, 0, all, 1, values.length);
        return rank.eval(all);
    }

    @Test
    void aSingleArrayIsOneValue() {
        assertEquals(rankOf(5L, (Object) new Long[] {2L}), rank.eval(5L, new Long[] {2L}));
        assertEquals("8000000000000005" + "1" + "18000000000000002" + "0", rank.eval(5L, new Long[] {2L}));
    }

    @Test
    void ranksFollowTheGoldenVectors() throws Exception {
        for (JsonNode golden : Golden.read("online/ranks")) {
            Object[] values = new Object[golden.get("values").size()];
            for (int i = 0; i < values.length; i++) {
                JsonNode value = golden.get("values").get(i);
                values[i] = Golden.value(value.get("dtype").textValue(), value.get("value"));
            }
            long time = Long.parseLong(golden.get("ts").textValue());
            assertEquals(golden.get("hex").textValue(), Golden.hex(rankOf(time, values)));
        }
    }

    @Test
    void ranksOfTextsOrderByUnitsAsByBytes() {
        String[] ascending = {
            "", "\0", "\0\0", "\u0001", "a", "a\uD83D\uDE00", "b", "\u0100", "\u08FF", "\uD7FE", "\uD7FF",
            "\uD7FF\u0100", "\uE000", "\uE000\uD800\uDC00", "\uFFFF", "\uD800\uDC00", "\uD83D\uDE00", "\uDBFF\uDFFF"
        };
        for (int i = 1; i < ascending.length; i++) {
            String low = rankOf(5L, ascending[i - 1], 9L);
            String high = rankOf(5L, ascending[i], 1L);
            assertTrue(low.compareTo(high) < 0, "units at " + i);
            byte[] bytes = low.getBytes(StandardCharsets.UTF_8);
            assertTrue(Arrays.compareUnsigned(bytes, high.getBytes(StandardCharsets.UTF_8)) < 0, "bytes at " + i);
        }
    }

    @Test
    void ranksOrderNumbers() {
        Object[][] ascending = {
            {null}, {Double.NEGATIVE_INFINITY}, {-Double.MAX_VALUE}, {-1.0}, {-Double.MIN_VALUE}, {0.0},
            {Double.MIN_VALUE}, {1.0}, {Double.MAX_VALUE}, {Double.POSITIVE_INFINITY}, {Double.NaN}
        };
        for (int i = 1; i < ascending.length; i++) {
            byte[] low = rankOf(5L, ascending[i - 1]).getBytes(StandardCharsets.UTF_8);
            byte[] high = rankOf(5L, ascending[i]).getBytes(StandardCharsets.UTF_8);
            assertTrue(Arrays.compareUnsigned(low, high) < 0, "at " + i);
        }
        assertEquals(rankOf(5L, 0.0), rankOf(5L, -0.0));
        assertEquals(rankOf(5L, 7), rankOf(5L, 7L));
    }

    @Test
    void arraysOfFlinkTypesAreArrays() {
        Object mixed = new Object[] {1L, 2L};
        assertEquals(rankOf(5L, mixed), rankOf(5L, (Object) new Long[] {1L, 2L}));
        Object withNull = new Long[] {1L, null};
        assertThrows(IllegalArgumentException.class, () -> rankOf(5L, withNull));
    }

    @Test
    void aNullTimeHasNoRank() {
        assertNull(rankOf(null, 1L));
        assertThrows(IllegalArgumentException.class, () -> rankOf(1L, new byte[0]));
    }
}
