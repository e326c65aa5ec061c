package dev.featuredsl.flink.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;

class MarksTest {
    private static Map<String, String> options() {
        return new HashMap<>(Map.of("url", "redis://h", "mode", "fields", "key-prefix", "g@v1:", "fields", "l:a",
                "mark-key", "featuredsl:closed", "mark-field", "g@v1/clicks/1m@5m", "mark-every", "60000000"));
    }

    private static Marks marks() {
        return new Marks(new SinkConfig(Configuration.fromMap(options())), "job", 1, 2);
    }

    private static String marked(Marks marks, long watermarkMillis) {
        MarkWrite write = marks.at(watermarkMillis);
        return write == null ? null : new String(write.arguments()[0], StandardCharsets.US_ASCII);
    }

    @Test
    void aPeriodIsClosedByTheWatermarkOfItsLastMillisecond() {
        Marks marks = marks();
        assertEquals("0", marked(marks, 59_998));
        assertNull(marked(marks, 59_998));
        assertEquals("60000000", marked(marks, 59_999));
        assertNull(marked(marks, 119_998));
        assertEquals("1800000000", marked(marks, 1_800_001));
        assertNull(marked(marks, 119_999));
    }

    @Test
    void timesBeforeTheEpochAreClosedToo() {
        Marks marks = marks();
        assertEquals("-120000000", marked(marks, -60_002));
        assertEquals("-60000000", marked(marks, -60_001));
    }

    @Test
    void theFirstAndTheLastWatermarkCloseNothing() {
        assertNull(marks().at(Long.MIN_VALUE));
        assertNull(marks().at(Long.MAX_VALUE));
    }

    @Test
    void theServerLearnsWhoMarks() {
        List<String> common = Arrays.stream(marks().commonArguments())
                .map(argument -> new String(argument, StandardCharsets.UTF_8))
                .collect(Collectors.toList());
        assertEquals(List.of("g@v1/clicks/1m@5m", "job/2", "1", "2"), common);
        assertEquals("featuredsl:closed", new String(marks().at(0).key, StandardCharsets.UTF_8));
    }

    @Test
    void optionsGoTogether() {
        for (String missing : List.of("mark-key", "mark-every")) {
            Map<String, String> options = options();
            options.remove(missing);
            assertThrows(ValidationException.class, () -> new SinkConfig(Configuration.fromMap(options)));
        }
        Map<String, String> options = options();
        options.put("mark-every", "0");
        assertThrows(ValidationException.class, () -> new SinkConfig(Configuration.fromMap(options)));
    }
}
