package dev.featuredsl.flink.redis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.featuredsl.flink.Golden;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.VarBinaryType;
import org.apache.flink.table.types.logical.VarCharType;
import org.junit.jupiter.api.Test;

class EncodersTest {
    private static final LogicalType STRING = VarCharType.STRING_TYPE;
    private static final LogicalType BIGINT = new BigIntType();

    private static Map<String, String> ring() {
        return new HashMap<>(Map.of("url", "redis://h", "mode", "ring", "key-prefix", "g@v1:", "header", "0102030405060708",
                "offset", "8", "slots", "4", "slot-size", "40", "total-size", "168", "hop", "300000000"));
    }

    private static SinkConfig config(Map<String, String> options) {
        return new SinkConfig(Configuration.fromMap(options));
    }

    @Test
    void slotsFollowTheGoldenVectors() throws Exception {
        JsonNode golden = Golden.read("online/ring");
        for (JsonNode tier : golden.get("tiers")) {
            List<LogicalType> types = new ArrayList<>(List.of(STRING, BIGINT, BIGINT, BIGINT));
            tier.get("columns").forEach(c -> types.add(c.get("dtype").textValue().equals("int") ? BIGINT : new DoubleType()));
            Map<String, String> options = ring();
            options.put("header", golden.get("header").textValue());
            options.put("offset", tier.get("offset").asText());
            options.put("slots", tier.get("slots").asText());
            options.put("slot-size", String.valueOf(32 + 8 * (types.size() - 4)));
            options.put("total-size", golden.get("total_size").asText());
            RingEncoder encoder = new RingEncoder(config(options), types);
            for (JsonNode slot : golden.get("slots")) {
                if (slot.get("tier").equals(tier.get("name"))) {
                    Write write = encoder.encode(row(tier, slot));
                    assertEquals("g@v1:{k|1}:R", new String(write.key, StandardCharsets.UTF_8));
                    assertEquals(slot.get("hex").textValue(), Golden.hex(write.arguments()[0]));
                }
            }
        }
    }

    private static GenericRowData row(JsonNode tier, JsonNode slot) {
        int columns = tier.get("columns").size();
        GenericRowData row = new GenericRowData(4 + columns);
        row.setField(0, StringData.fromString("k|1"));
        row.setField(1, Long.parseLong(slot.get("tile").textValue()));
        row.setField(2, Long.parseLong(slot.get("rows").textValue()));
        row.setField(3, Long.parseLong(slot.get("high_water_us").textValue()));
        for (int i = 0; i < columns; i++) {
            String dtype = tier.get("columns").get(i).get("dtype").textValue();
            row.setField(4 + i, Golden.value(dtype, slot.get("values").get(i)));
        }
        return row;
    }

    private static Map<String, String> tiles() {
        return new HashMap<>(Map.of("url", "redis://h", "mode", "tiles", "key-prefix", "g@v1:", "field-prefix", "t:clicks/5m:",
                "slots", "4", "hop", "300000000"));
    }

    private static List<LogicalType> tileTypes(int states) {
        List<LogicalType> types = new ArrayList<>(List.of(STRING, BIGINT, BIGINT, BIGINT));
        for (int i = 0; i < states; i++) {
            types.add(new VarBinaryType(VarBinaryType.MAX_LENGTH));
        }
        return types;
    }

    private static GenericRowData tileRow(JsonNode tile) {
        int states = tile.get("states").size();
        GenericRowData row = new GenericRowData(4 + states);
        row.setField(0, StringData.fromString("k|1"));
        row.setField(1, Long.parseLong(tile.get("tile").textValue()));
        row.setField(2, Long.parseLong(tile.get("rows").textValue()));
        row.setField(3, Long.parseLong(tile.get("high_water_us").textValue()));
        for (int i = 0; i < states; i++) {
            JsonNode state = tile.get("states").get(i);
            row.setField(4 + i, state.isNull() ? null : Golden.bytes(state.textValue()));
        }
        return row;
    }

    @Test
    void tilesOfStatesFollowTheGoldenVectors() throws Exception {
        JsonNode golden = Golden.read("online/wide_tiles");
        TilesEncoder encoder = new TilesEncoder(config(tiles()), tileTypes(golden.get("tier").get("states").intValue()));
        int compared = 0;
        for (JsonNode tile : golden.get("tiles")) {
            if (tile.get("lost").isEmpty()) {
                Write write = encoder.encode(tileRow(tile));
                assertEquals("g@v1:{k|1}:X", new String(write.key, StandardCharsets.UTF_8));
                assertEquals(tile.get("hex").textValue(), Golden.hex(write.arguments()[0]));
                assertEquals(tile.get("field").textValue(), "t:clicks/5m:" + write.place);
                compared++;
            }
        }
        assertEquals(4, compared);
        assertEquals(0, encoder.leftOut());
        assertNull(encoder.encode(GenericRowData.of(null, 1L, 1L, 1L, null, null, null)));
    }

    @Test
    void largeStatesAreLeftOutAndCounted() throws Exception {
        for (JsonNode cut : Golden.read("online/wide_tiles").get("cut")) {
            Map<String, String> options = tiles();
            options.put("max-bytes", cut.get("max_bytes").textValue());
            TilesEncoder encoder = new TilesEncoder(config(options), tileTypes(3));
            byte[] content = encoder.encode(tileRow(cut)).arguments()[0];
            assertEquals(cut.get("hex").textValue(), Golden.hex(content));
            assertEquals(cut.get("lost").intValue(), encoder.leftOut());
            assertTrue(content.length <= Integer.parseInt(cut.get("max_bytes").textValue()));
        }
    }

    @Test
    void everyTileThatIsTooLargeComesWithinItsBytes() {
        Map<String, String> options = tiles();
        options.put("max-bytes", "200");
        TilesEncoder encoder = new TilesEncoder(config(options), tileTypes(3));
        for (int a = 0; a < 250; a += 7) {
            for (int b = 0; b < 250; b += 11) {
                byte[] content = encoder.encode(GenericRowData.of(
                        StringData.fromString("k"), 1L, 1L, 1L, new byte[a], new byte[b], new byte[40])).arguments()[0];
                assertTrue(content.length <= 200, a + " and " + b);
            }
        }
        assertTrue(encoder.leftOut() > 0);
    }

    @Test
    void wrongTilesAreRefused() {
        String[][] wrong = {{"slots", "0"}, {"hop", "0"}, {"max-bytes", "27"}, {"expire-after", "-1"}};
        for (String[] option : wrong) {
            Map<String, String> options = tiles();
            options.put(option[0], option[1]);
            assertThrows(ValidationException.class, () -> new TilesEncoder(config(options), tileTypes(3)), option[0]);
        }
        for (String needed : List.of("field-prefix", "slots", "hop")) {
            Map<String, String> missing = tiles();
            missing.remove(needed);
            assertThrows(ValidationException.class, () -> config(missing), needed);
        }
        assertThrows(ValidationException.class, () -> new TilesEncoder(config(tiles()), tileTypes(0)));
        assertThrows(ValidationException.class,
                () -> new TilesEncoder(config(tiles()), List.of(STRING, BIGINT, BIGINT, BIGINT, STRING)));
    }

    private static Map<String, String> sessions() {
        return new HashMap<>(Map.of("url", "redis://h", "mode", "sessions", "key-prefix", "g@v1:", "field-prefix",
                "s:clicks/session_30m", "slots", "3", "hop", "1800000000"));
    }

    private static List<LogicalType> sessionTypes() {
        return List.of(STRING, BIGINT, BIGINT, BIGINT, new VarBinaryType(VarBinaryType.MAX_LENGTH));
    }

    @Test
    void sessionsFollowTheGoldenVectors() throws Exception {
        SessionsEncoder encoder = new SessionsEncoder(config(sessions()), sessionTypes());
        for (JsonNode golden : Golden.read("online/sessions").get("records")) {
            GenericRowData row = GenericRowData.of(
                    StringData.fromString("k|1"),
                    Long.parseLong(golden.get("first_us").textValue()),
                    Long.parseLong(golden.get("last_us").textValue()),
                    Long.parseLong(golden.get("rows").textValue()),
                    Golden.bytes(golden.get("content").textValue()));
            Write write = encoder.encode(row);
            assertEquals("g@v1:{k|1}:X", new String(write.key, StandardCharsets.UTF_8));
            assertEquals(golden.get("hex").textValue(), Golden.hex(write.arguments()[0]));
            row.setField(0, null);
            assertNull(encoder.encode(row));
        }
        assertThrows(ValidationException.class, () -> new SessionsEncoder(config(sessions()), tileTypes(2)));
        Map<String, String> missing = sessions();
        missing.remove("field-prefix");
        assertThrows(ValidationException.class, () -> config(missing));
    }

    @Test
    void writesOfOneSessionMergeAndSessionsKeepApart() {
        SessionsEncoder encoder = new SessionsEncoder(config(sessions()), sessionTypes());
        Write[] writes = new Write[3];
        for (int i = 0; i < 3; i++) {
            writes[i] = encoder.encode(GenericRowData.of(StringData.fromString("k"), i < 2 ? 7L : 8L, 9L, 1L + i, new byte[0]));
        }
        assertEquals(writes[0], writes[1]);
        assertNotEquals(writes[0], writes[2]);
        assertMerged(writes[1], writes[0], writes[1]);
        assertMerged(writes[1], writes[1], writes[0]);
    }

    private static TileWrite tile(long tile, long rows) {
        return new TileWrite(new byte[] {1}, 0, Math.floorMod(tile, 4L), tile, rows, new byte[] {(byte) tile, (byte) rows});
    }

    /** The first write, when the second is merged into it, has the arguments that are expected. */
    private static void assertMerged(Write expected, Write first, Write second) {
        byte[][] arguments = expected.arguments();
        first.merge(second);
        assertArrayEquals(arguments, first.arguments());
    }

    @Test
    void tilesForOneSlotMergeAsTheServerWould() {
        TileWrite old = tile(5, 3);
        assertEquals(old, tile(9, 1));
        assertEquals(old.hashCode(), tile(9, 1).hashCode());
        assertNotEquals(old, tile(6, 1));
        assertMerged(tile(9, 1), tile(5, 3), tile(9, 1));
        assertMerged(tile(9, 1), tile(9, 1), tile(5, 3));
        assertMerged(tile(5, 4), tile(5, 3), tile(5, 4));
        assertMerged(tile(5, 4), tile(5, 4), tile(5, 3));
        byte[] again = {1};
        assertMerged(new TileWrite(old.key, 0, 1, 5, 3, again), tile(5, 3), new TileWrite(old.key, 0, 1, 5, 3, again));
    }

    @Test
    void fieldsMergeOneByOneByTheirBytes() {
        byte[] key = {1};
        byte[][] none = {{}, "b".getBytes(StandardCharsets.UTF_8)};
        byte[][] some = {"\u00e9".getBytes(StandardCharsets.UTF_8), "a".getBytes(StandardCharsets.UTF_8)};
        byte[] before = none[1];
        Write merged = new FieldsWrite(key, 1, 7, none);
        merged.merge(new FieldsWrite(key, 2, 5, some));
        assertArrayEquals(new byte[][] {"7".getBytes(StandardCharsets.US_ASCII), some[0], before}, merged.arguments());
    }

    @Test
    void fieldsExpireAfterTheirTimeRoundedUp() {
        Map<String, String> options = new HashMap<>(Map.of("url", "redis://h", "mode", "fields", "key-prefix", "g@v1:",
                "fields", "l:a;l:b", "expire-after", "1000001"));
        FieldsEncoder encoder = new FieldsEncoder(config(options), List.of(STRING, BIGINT, STRING, STRING));
        GenericRowData row = GenericRowData.of(StringData.fromString("k"), 5L, StringData.fromString("r"), null);
        Write write = encoder.encode(row);
        assertEquals("g@v1:{k}:X", new String(write.key, StandardCharsets.UTF_8));
        assertArrayEquals(new byte[][] {"1001".getBytes(StandardCharsets.US_ASCII), {'r'}, {}}, write.arguments());
        assertNull(encoder.encode(GenericRowData.of(StringData.fromString("k"), 5L, null, null)));
        assertNull(encoder.encode(GenericRowData.of(null, 5L, StringData.fromString("r"), null)));
    }

    @Test
    void aRingMayKeepTheHashAlive() {
        Map<String, String> options = ring();
        for (String set : new String[] {"false", "true"}) {
            options.put("extend-hash", set);
            byte[][] common = new RingEncoder(config(options), List.of(STRING, BIGINT, BIGINT, BIGINT, BIGINT)).commonArguments();
            assertEquals(8, common.length);
            assertArrayEquals(new byte[] {(byte) (set.equals("true") ? '1' : '0')}, common[7]);
        }
    }

    @Test
    void wrongOptionsAreRefused() {
        String[][] wrong = {{"mode", "list"}, {"header", "01"}, {"slot-size", "48"}, {"total-size", "100"}, {"slots", "0"},
            {"offset", "0"}, {"batch", "0"}, {"max-pending", "10"}, {"expire-after", "-1"}};
        for (String[] option : wrong) {
            Map<String, String> options = ring();
            options.put(option[0], option[1]);
            assertThrows(ValidationException.class,
                    () -> new RingEncoder(config(options), List.of(STRING, BIGINT, BIGINT, BIGINT, BIGINT)), option[0]);
        }
        Map<String, String> missing = ring();
        missing.remove("hop");
        assertThrows(ValidationException.class, () -> config(missing));
        assertThrows(ValidationException.class,
                () -> new RingEncoder(config(ring()), List.of(STRING, BIGINT, BIGINT, BIGINT, STRING)));
    }
}
