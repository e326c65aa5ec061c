package dev.featuredsl.flink.json;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.featuredsl.flink.Golden;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Random;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.SimpleUserCodeClassLoader;
import org.apache.flink.util.UserCodeClassLoader;
import org.junit.jupiter.api.Test;

class StrictJsonDeserializerTest {
    private static final DataType ROW = DataTypes.ROW(
            DataTypes.FIELD("u", DataTypes.STRING()),
            DataTypes.FIELD("q", DataTypes.BIGINT()),
            DataTypes.FIELD("x", DataTypes.DOUBLE()),
            DataTypes.FIELD("b", DataTypes.BOOLEAN()),
            DataTypes.FIELD("o", DataTypes.STRING()),
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("_reject", DataTypes.STRING()),
            DataTypes.FIELD("_detail", DataTypes.STRING()),
            DataTypes.FIELD("_payload", DataTypes.STRING()),
            DataTypes.FIELD("_sha256", DataTypes.STRING()),
            DataTypes.FIELD("_heartbeat", DataTypes.BOOLEAN()),
            DataTypes.FIELD("_ts", DataTypes.BIGINT()),
            DataTypes.FIELD("_raw", DataTypes.STRING()));
    private static final int REJECT = 6;
    private static final int DETAIL = 7;
    private static final int PAYLOAD = 8;
    private static final int SHA256 = 9;
    private static final int HEARTBEAT = 10;
    private static final int TIME = 11;
    private static final int RAW = 12;
    private static final String GOOD = "{\"ts\":1700000000123,\"u\":\"a\"}";

    private static StrictJsonDeserializer schema(DataType row, Map<String, String> options) {
        StrictJsonDeserializer out = new StrictJsonDeserializer(
                (RowType) row.getLogicalType(), new StrictJsonConfig(Configuration.fromMap(options)), null);
        out.open(new DeserializationSchema.InitializationContext() {
            @Override
            public MetricGroup getMetricGroup() {
                return new UnregisteredMetricsGroup();
            }

            @Override
            public UserCodeClassLoader getUserCodeClassLoader() {
                return SimpleUserCodeClassLoader.create(getClass().getClassLoader());
            }
        });
        return out;
    }

    private static RowData read(String json) {
        return schema(ROW, Map.of("required", "u")).deserialize(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void goodRecordsKeepEveryDigit() {
        String json = " { \"ts\" : 1700000000123, \"u\":\"\u65e5\\ud834\\udd1e\", \"q\":9007199254740993, \"x\":-1e-3, \"b\":false,"
                + "\"o\":{\"k\" : [1, 2.50, \"a b\\\" c\"]}, \"i\":-5, \"unknown\":[{}], \"_reject\":\"mine\"} ";
        RowData row = read(json);
        assertEquals("\u65e5\ud834\udd1e", row.getString(0).toString());
        assertEquals(9007199254740993L, row.getLong(1));
        assertEquals(-0.001, row.getDouble(2));
        assertFalse(row.getBoolean(3));
        assertEquals("{\"k\":[1,2.50,\"a b\\\" c\"]}", row.getString(4).toString());
        assertEquals(-5, row.getInt(5));
        assertTrue(row.isNullAt(REJECT) && row.isNullAt(DETAIL) && row.isNullAt(PAYLOAD) && row.isNullAt(SHA256));
        assertFalse(row.getBoolean(HEARTBEAT));
        assertEquals(1_700_000_000_123_000L, row.getLong(TIME));
        assertEquals(json, row.getString(RAW).toString());
    }

    @Test
    void absentAndNullColumnsAreNull() {
        RowData row = read("{\"ts\":1700000000123,\"u\":\"\",\"q\":null}");
        assertEquals("", row.getString(0).toString());
        for (int column = 1; column <= 5; column++) {
            assertTrue(row.isNullAt(column));
        }
        assertEquals(-9223372036854775808L, read("{\"ts\":1700000000123,\"u\":\"a\",\"q\":-9223372036854775808}").getLong(1));
        assertEquals(5.0, read("{\"ts\":1700000000123,\"u\":\"a\",\"x\":5}").getDouble(2));
    }

    @Test
    void refusesTheGoldenRecordsWithTheirReasons() throws Exception {
        for (String name : new String[] {"records/bad_json", "records/bad_columns"}) {
            for (JsonNode golden : Golden.read(name)) {
                byte[] payload = golden.get("payload").isNull() ? null : Golden.bytes(golden.get("payload").textValue());
                RowData row = schema(ROW, Map.of("required", "u")).deserialize(payload);
                String shown = payload == null ? "null" : new String(payload, 0, Math.min(80, payload.length), StandardCharsets.UTF_8);
                assertEquals(golden.get("reason").textValue(), String.valueOf(row.getString(REJECT)), shown);
                assertTrue(row.isNullAt(TIME) && row.isNullAt(0) && row.isNullAt(RAW), shown);
                assertFalse(row.isNullAt(DETAIL), shown);
                if (payload != null) {
                    assertArrayEquals(payload, Base64.getDecoder().decode(row.getString(PAYLOAD).toBytes()), shown);
                }
            }
        }
    }

    @Test
    void longRecordsAreCutButTheirHashIsWhole() {
        StrictJsonDeserializer schema = schema(ROW, Map.of("max-bytes", "10", "payload-limit", "3"));
        RowData row = schema.deserialize("abcdefghijk".getBytes(StandardCharsets.UTF_8));
        assertEquals("too_large", row.getString(REJECT).toString());
        assertEquals("YWJj", row.getString(PAYLOAD).toString());
        assertEquals("ca2f2069ea0c6e4658222e06f8dd639659cbb5e67cbbba6734bc334a3799bc68", row.getString(SHA256).toString());
    }

    @Test
    void heartbeatsCarryOnlyTheirTime() {
        RowData row = read("{\"heartbeat\":true,\"ts\":1700000000123,\"u\":5,\"q\":1}");
        assertTrue(row.getBoolean(HEARTBEAT));
        assertEquals(1_700_000_000_123_000L, row.getLong(TIME));
        assertTrue(row.isNullAt(0) && row.isNullAt(1) && row.isNullAt(REJECT));
        assertFalse(read("{\"heartbeat\":false,\"ts\":1700000000123,\"u\":\"a\"}").getBoolean(HEARTBEAT));
        DataType plain = DataTypes.ROW(DataTypes.FIELD("u", DataTypes.STRING()));
        assertNull(schema(plain, Map.of()).deserialize("{\"heartbeat\":true,\"ts\":1700000000123}".getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void heartbeatsNeedNotKnowTheFieldAndTheUnitOfTheTopic() {
        Map<String, String> seconds = Map.of("event-time", "at", "time-unit", "s");
        for (Map.Entry<String, Long> sent : Map.of(
                "\"ts\":1700000000123", 1_700_000_000_123_000L,
                "\"ts\":\"2023-11-14T22:13:20Z\"", 1_700_000_000_000_000L,
                "\"at\":1700000001,\"ts\":5", 1_700_000_001_000_000L).entrySet()) {
            RowData row = schema(ROW, seconds)
                    .deserialize(("{\"heartbeat\":true," + sent.getKey() + "}").getBytes(StandardCharsets.UTF_8));
            assertTrue(row.getBoolean(HEARTBEAT));
            assertEquals(sent.getValue(), row.getLong(TIME));
        }
        for (Map.Entry<String, String> bad : Map.of(
                "{\"heartbeat\":true,\"ts\":5}", "bad_time",
                "{\"heartbeat\":true,\"ts\":1.5}", "missing_field",
                "{\"heartbeat\":true}", "missing_field",
                "{\"ts\":1700000000123,\"u\":\"a\"}", "missing_field").entrySet()) {
            RowData row = schema(ROW, seconds).deserialize(bad.getKey().getBytes(StandardCharsets.UTF_8));
            assertEquals(bad.getValue(), row.getString(REJECT).toString());
        }
    }

    @Test
    void aHeartbeatHasNoDataThatCouldBeWrong() {
        DataType row = DataTypes.ROW(DataTypes.FIELD("ts", DataTypes.BOOLEAN()), DataTypes.FIELD("_ts", DataTypes.BIGINT()),
                DataTypes.FIELD("_heartbeat", DataTypes.BOOLEAN()), DataTypes.FIELD("_reject", DataTypes.STRING()));
        StrictJsonDeserializer schema = schema(row, Map.of("event-time", "at"));
        RowData beat = schema.deserialize("{\"heartbeat\":true,\"ts\":1700000000123}".getBytes(StandardCharsets.UTF_8));
        assertTrue(beat.getBoolean(2) && beat.isNullAt(0) && beat.isNullAt(3));
        assertEquals(1_700_000_000_123_000L, beat.getLong(1));
        for (Map.Entry<String, String> bad : Map.of(
                "{\"heartbeat\":true,\"ts\":1700000000123,\"at\":\"never\"}", "bad_time",
                "{\"heartbeat\":true,\"ts\":true}", "missing_field",
                "{\"ts\":1700000000123,\"at\":1700000000123}", "bad_type").entrySet()) {
            RowData refused = schema.deserialize(bad.getKey().getBytes(StandardCharsets.UTF_8));
            assertEquals(bad.getValue(), refused.getString(3).toString());
        }
    }

    @Test
    void textHeartbeatsAreForEveryUnit() {
        for (String unit : new String[] {"s", "ms", "us"}) {
            RowData row = schema(ROW, Map.of("time-unit", unit))
                    .deserialize("{\"heartbeat\":true,\"ts\":\"2023-11-14T22:13:20.123000Z\"}".getBytes(StandardCharsets.UTF_8));
            assertTrue(row.getBoolean(HEARTBEAT));
            assertEquals(1_700_000_000_123_000L, row.getLong(TIME));
        }
    }

    @Test
    void timesComeInUnitsAndAsIso() {
        DataType row = DataTypes.ROW(
                DataTypes.FIELD("at", DataTypes.BIGINT()), DataTypes.FIELD("seen", DataTypes.BIGINT()), DataTypes.FIELD("_ts", DataTypes.BIGINT()));
        StrictJsonDeserializer seconds = schema(row, Map.of("event-time", "at", "time-unit", "s", "time-columns", "seen"));
        RowData iso = seconds.deserialize("{\"at\":\"2023-11-15T07:13:20.123456789+09:00\",\"seen\":1700000001}".getBytes(StandardCharsets.UTF_8));
        assertEquals(1_700_000_000L, iso.getLong(0));
        assertEquals(1_700_000_001L, iso.getLong(1));
        assertEquals(1_700_000_000_123_456L, iso.getLong(2));
        StrictJsonDeserializer micros = schema(row, Map.of("event-time", "at", "time-unit", "us", "time-range", "none"));
        assertEquals(-7L, micros.deserialize("{\"at\":-7}".getBytes(StandardCharsets.UTF_8)).getLong(2));
        assertEquals(4_133_980_799_999L * 1000, read("{\"ts\":4133980799999,\"u\":\"a\"}").getLong(TIME));
        assertEquals("bad_time", read("{\"ts\":4133980800000,\"u\":\"a\"}").getString(REJECT).toString());
        assertTrue(read("{\"ts\":1700000000,\"u\":\"a\"}").getString(DETAIL).toString().contains("fit as seconds"));
    }

    private static final DataType ARRAYS = DataTypes.ROW(
            DataTypes.FIELD("i", DataTypes.ARRAY(DataTypes.BIGINT())),
            DataTypes.FIELD("d", DataTypes.ARRAY(DataTypes.DOUBLE())),
            DataTypes.FIELD("w", DataTypes.ARRAY(DataTypes.STRING())),
            DataTypes.FIELD("_reject", DataTypes.STRING()),
            DataTypes.FIELD("_ts", DataTypes.BIGINT()));

    private static RowData readArrays(String fields) {
        String json = "{\"ts\":1700000000123" + fields + "}";
        return schema(ARRAYS, Map.of()).deserialize(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void arraysKeepEveryElement() {
        RowData row = readArrays(",\"i\" : [ 9007199254740993,-9223372036854775808 ],\"d\":[0.1,2],\"w\":[\"\u65e5\ud834\udd1e\",\"a\\u0000\\\"]\",\"\"]");
        assertTrue(row.isNullAt(3));
        assertArrayEquals(new long[] {9007199254740993L, Long.MIN_VALUE}, row.getArray(0).toLongArray());
        assertArrayEquals(new double[] {0.1, 2.0}, row.getArray(1).toDoubleArray());
        assertEquals(3, row.getArray(2).size());
        assertEquals("\u65e5\ud834\udd1e", row.getArray(2).getString(0).toString());
        assertEquals("a\u0000\"]", row.getArray(2).getString(1).toString());
        assertEquals("", row.getArray(2).getString(2).toString());
        RowData empty = readArrays(",\"i\":[],\"d\":null");
        assertEquals(0, empty.getArray(0).size());
        assertTrue(empty.isNullAt(1) && empty.isNullAt(2) && empty.isNullAt(3));
    }

    @Test
    void detailsNameTypesAsDefinitionsDo() {
        DataType row = DataTypes.ROW(DataTypes.FIELD("i", DataTypes.BIGINT()), DataTypes.FIELD("n", DataTypes.INT()),
                DataTypes.FIELD("f", DataTypes.DOUBLE()), DataTypes.FIELD("s", DataTypes.STRING()),
                DataTypes.FIELD("b", DataTypes.BOOLEAN()), DataTypes.FIELD("w", DataTypes.ARRAY(DataTypes.STRING())),
                DataTypes.FIELD("ts", DataTypes.BIGINT()), DataTypes.FIELD("_reject", DataTypes.STRING()),
                DataTypes.FIELD("_detail", DataTypes.STRING()), DataTypes.FIELD("_ts", DataTypes.BIGINT()));
        StrictJsonDeserializer schema = schema(row, Map.of());
        for (Map.Entry<String, String> bad : Map.of(
                "\"i\":\"7\"", "field i is int, found a string",
                "\"n\":0.5", "field n is int, found a fraction",
                "\"f\":true", "field f is float, found a boolean",
                "\"s\":7", "field s is str, found an integer",
                "\"b\":1", "field b is bool, found an integer",
                "\"w\":\"a\"", "field w is list[str], found a string",
                "\"w\":[\"a\",null]", "field w is list[str], found null in it").entrySet()) {
            String json = "{\"ts\":1700000000123," + bad.getKey() + "}";
            RowData refused = schema.deserialize(json.getBytes(StandardCharsets.UTF_8));
            assertEquals(bad.getValue(), refused.getString(8).toString());
        }
    }

    @Test
    void refusesTheGoldenArraysWithTheirReasons() throws Exception {
        for (JsonNode golden : Golden.read("records/bad_arrays")) {
            RowData row = readArrays("," + golden.get("fields").textValue());
            assertEquals(golden.get("reason").textValue(), String.valueOf(row.getString(3)), golden.toString());
            assertTrue(row.isNullAt(0) && row.isNullAt(4), golden.toString());
        }
        DataType nested = DataTypes.ROW(DataTypes.FIELD("n", DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.BIGINT()))));
        assertThrows(ValidationException.class, () -> schema(nested, Map.of()));
    }

    @Test
    void noBytesMakeItFail() {
        StrictJsonDeserializer schema = schema(ROW, Map.of());
        Random random = new Random(7);
        byte[] good = GOOD.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = good.clone();
            for (int k = random.nextInt(3); k >= 0; k--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            }
            RowData row = schema.deserialize(bytes);
            assertTrue(row.isNullAt(REJECT) != row.isNullAt(TIME));
        }
    }

    @Test
    void wrongTablesAreRefused() {
        DataType notNull = DataTypes.ROW(DataTypes.FIELD("u", DataTypes.STRING().notNull()));
        assertThrows(ValidationException.class, () -> schema(notNull, Map.of()));
        DataType decimal = DataTypes.ROW(DataTypes.FIELD("d", DataTypes.DECIMAL(10, 2)));
        assertThrows(ValidationException.class, () -> schema(decimal, Map.of()));
        DataType special = DataTypes.ROW(DataTypes.FIELD("_ts", DataTypes.STRING()));
        assertThrows(ValidationException.class, () -> schema(special, Map.of()));
        assertThrows(ValidationException.class, () -> schema(ROW, Map.of("required", "absent")));
        assertThrows(ValidationException.class, () -> schema(ROW, Map.of("time-columns", "u")));
        assertThrows(ValidationException.class, () -> schema(ROW, Map.of("time-unit", "ns")));
        assertThrows(ValidationException.class, () -> schema(ROW, Map.of("time-range", "1980")));
    }
}
