package dev.featuredsl.flink.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;

class ObservationsTest {
    private static List<Row> rows(String features, String prediction, Double latency, String error, String fallback) {
        List<Row> out = new ArrayList<>();
        Observations function = new Observations();
        function.setCollector(new Collector<Row>() {
            @Override
            public void collect(Row row) {
                out.add(row);
            }

            @Override
            public void close() {}
        });
        function.eval(features, prediction, latency, error, fallback);
        return out;
    }

    private static List<Row> features(String json) {
        List<Row> all = rows(json, null, null, null, null);
        return all.subList(0, all.size() - 3);
    }

    @Test
    void scalarsKeepTheirType() {
        assertEquals(
                List.of(
                        Row.of("i", false, 3.0, null, null),
                        Row.of("d", false, -0.5, null, null),
                        Row.of("s", false, null, "3", null),
                        Row.of("b", false, null, null, true),
                        Row.of("n", false, null, null, null)),
                features("{\"i\":3,\"d\":-0.5,\"s\":\"3\",\"b\":true,\"n\":null}"));
    }

    @Test
    void nestedNamesHaveDotsAndEveryElementOfAnArrayCounts() {
        assertEquals(
                List.of(
                        Row.of("a.b", false, 1.0, null, null),
                        Row.of("v", false, 1.0, null, null),
                        Row.of("v", false, 2.0, null, null),
                        Row.of("l.x", false, null, "y", null)),
                features("{\"a\":{\"b\":1},\"v\":[1,2],\"l\":[{\"x\":\"y\"}],\"e\":[],\"o\":{}}"));
    }

    @Test
    void ofAPredictionTheProbabilityAndTheScoreCount() {
        String picks = "[{\"slot_id\":\"1\",\"chosen\":\"a\",\"probability\":0.25,\"score\":null}]";
        assertEquals(
                List.of(
                        Row.of("$prediction.probability", true, 0.25, null, null),
                        Row.of("$prediction.score", true, null, null, null)),
                rows("{}", picks, null, null, null).subList(0, 2));
        assertEquals(Row.of("$prediction", true, 0.7, null, null), rows("{}", "0.7", null, null, null).get(0));
    }

    @Test
    void latencyErrorsAndFallbacksAreSeriesToo() {
        assertEquals(
                List.of(
                        Row.of("$latency_ms", false, 1.5, null, null),
                        Row.of("$error", false, null, "timeout", null),
                        Row.of("$fallback", false, null, "no_model,stale", null)),
                rows("{}", null, 1.5, "timeout", "[\"no_model\",\"stale\"]"));
        assertEquals(
                List.of(Row.of("$error", false, null, "none", null), Row.of("$fallback", false, null, "none", null)),
                rows("{}", null, null, null, "[]").subList(1, 3));
    }

    @Test
    void aTextThatIsNoJsonGivesNoFeatures() {
        assertEquals(List.of(), features("not json"));
    }
}
