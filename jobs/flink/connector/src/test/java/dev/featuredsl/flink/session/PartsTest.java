package dev.featuredsl.flink.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.featuredsl.flink.Golden;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.Test;

class PartsTest {
    private static final String FIVE =
            "[{\"merge\":\"sum\"},{\"merge\":\"min\"},{\"merge\":\"max\"},{\"merge\":\"sum\"},"
                    + "{\"kind\":\"last_k\",\"params\":\"{\\\"k\\\":2}\",\"values\":2}]";

    /** A row of the key, the time and the columns of {@code FIVE}. */
    private static Row row(Long x, Double f, Boolean condition, String text) {
        return Row.of("k", 0L, x, x, f, f, condition, text, x);
    }

    private static byte[] fold(Parts parts, byte[] stored, Row... rows) {
        byte[] kept = stored;
        for (int i = 0; i < rows.length; i++) {
            kept = parts.add(kept, i, rows[i], 2);
        }
        return kept;
    }

    private static String content(byte[] stored) {
        return Golden.hex(Cells.content(stored, 1 << 20, new SimpleCounter()));
    }

    @Test
    void numbersAndStatesAreTheContentOfARecord() {
        Parts parts = new Parts(FIVE);
        byte[] none = fold(parts, null, row(null, null, null, null));
        assertEquals("0000000000", content(none));
        byte[] some = fold(parts, none, row(3L, 0.5, false, "a"), row(-4L, -2.0, true, "é"));
        assertEquals(
                "01ffffffffffffffff" + "01fffffffffffffffc" + "013fe0000000000000" + "01bff8000000000000"
                        // last_k: format, time 1, two cells: the text, the number that breaks ties
                        + "01" + "0000001b" + "01" + "0000000000000001" + "0002" + "7300000002c3a9" + "69fffffffffffffffc",
                content(some));
    }

    @Test
    void aPartMergesToWhatItsRowsWouldGive() {
        Parts parts = new Parts(FIVE);
        Row[] rows = {row(1L, 2.0, true, "x"), row(null, 0.25, true, null), row(7L, null, null, "z"), row(5L, 1.0, true, "y")};
        byte[] left = parts.add(parts.add(null, 10, rows[0], 2), 20, rows[1], 2);
        byte[] right = parts.add(parts.add(null, 30, rows[2], 2), 40, rows[3], 2);
        byte[] whole = parts.add(parts.add(left, 30, rows[2], 2), 40, rows[3], 2);
        assertEquals(content(whole), content(parts.merge(left, right)));
        assertEquals(content(whole), content(parts.merge(right, left)));
    }

    @Test
    void aSumOfIntegersMayLeave64BitsOnItsWay() {
        Parts parts = new Parts("[{\"merge\":\"sum\"}]");
        Row most = Row.of("k", 0L, Long.MAX_VALUE);
        Row least = Row.of("k", 0L, Long.MIN_VALUE);
        byte[] above = fold(parts, null, most, most);
        assertEquals("00", content(above));
        assertEquals("01fffffffffffffffe", content(fold(parts, above, least, least)));
        assertEquals("00", content(fold(parts, null, least, Row.of("k", 0L, -1L))));
        assertEquals("018000000000000000", content(fold(parts, null, least, Row.of("k", 0L, -1L), Row.of("k", 0L, 1L))));
        assertEquals("01ffffffffffffffff", content(parts.merge(fold(parts, null, most), fold(parts, null, least))));
    }

    @Test
    void aStateThatIsTooLargeIsLeftOut() {
        Parts parts = new Parts("[{\"merge\":\"max\"},{\"kind\":\"min\",\"params\":\"{}\",\"values\":1},"
                + "{\"kind\":\"max\",\"params\":\"{}\",\"values\":1}]");
        byte[] stored = fold(parts, null, Row.of("k", 0L, 9L, true, "a".repeat(90), true, "b"));
        Counter leftOut = new SimpleCounter();
        assertEquals("010000000000000009" + "02" + "01" + "00000007" + "017300000001" + "62",
                Golden.hex(Cells.content(stored, 60, leftOut)));
        assertEquals(1, leftOut.getCount());
    }

    @Test
    void partsThatAreNoneAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> new Parts("[{\"merge\":\"avg\"}]"));
        assertThrows(IllegalArgumentException.class, () -> new Parts("[{\"kind\":\"lastk\",\"params\":\"{}\",\"values\":1}]"));
        assertThrows(IllegalArgumentException.class, () -> new Parts("nothing"));
    }
}
