package dev.featuredsl.flink.wide;

import dev.featuredsl.flink.Golden;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.data.StringData;

/** The cases of {@code tests/golden/wide/states.json}, which Python writes and is tested with. */
final class Vectors {
    private static final double MINUS_NAN = Double.longBitsToDouble(0xfff8000000000000L);

    /** An event as Flink gives it. */
    static final class Event {
        final long timeUs;
        final Object[] values;

        Event(long timeUs, Object... values) {
            this.timeUs = timeUs;
            this.values = values;
        }
    }

    /** A case: what is merged, and the bytes that must come out. */
    static final class Case {
        final String name;
        final String kind;
        final String params;
        final boolean anyOrder;
        final List<List<Event>> parts = new ArrayList<>();
        private final JsonNode row;

        Case(JsonNode row) {
            this.row = row;
            name = row.get("name").textValue();
            kind = row.get("kind").textValue();
            params = row.get("params").textValue();
            anyOrder = row.get("any_order").booleanValue();
            row.get("parts").forEach(part -> parts.add(events(part)));
        }

        /** The pinned bytes; null when only their digest is. */
        byte[] bytes() {
            return row.has("bytes") ? Golden.bytes(row.get("bytes").textValue()) : null;
        }

        /** What must be equal: the bytes, or their length and digest; of sums their time and whether the sum is close. */
        String expected() {
            if (kind.startsWith("decayed") && bytes().length == 17) {
                return Golden.hex(bytes()).substring(0, 18) + " close";
            }
            return row.has("bytes") ? Golden.hex(bytes()) : row.get("length") + " " + row.get("sha256").textValue();
        }

        String found(byte[] state) throws NoSuchAlgorithmException {
            if (kind.startsWith("decayed") && state.length == 17) {
                double want = ByteBuffer.wrap(bytes()).getDouble(9);
                double got = ByteBuffer.wrap(state).getDouble(9);
                boolean close = Math.abs(want - got) <= 1e-14 * Math.abs(want);
                return Golden.hex(state).substring(0, 18) + (close ? " close" : " " + got + " is not " + want);
            }
            if (row.has("bytes")) {
                return Golden.hex(state);
            }
            return state.length + " " + Golden.hex(MessageDigest.getInstance("SHA-256").digest(state));
        }
    }

    private Vectors() {}

    static List<Case> all() throws IOException {
        List<Case> cases = new ArrayList<>();
        Golden.read("wide/states").forEach(row -> cases.add(new Case(row)));
        return cases;
    }

    private static List<Event> events(JsonNode part) {
        List<Event> events = new ArrayList<>();
        for (JsonNode item : part) {
            if (item.isObject()) {
                addSeries(events, item);
                continue;
            }
            Object[] values = new Object[item.get(1).size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = value(item.get(1).get(i));
            }
            events.add(new Event(item.get(0).longValue(), values));
        }
        return events;
    }

    private static void addSeries(List<Event> events, JsonNode series) {
        long first = series.get("first").longValue();
        long most = series.get("most").longValue();
        String text = series.get("text").textValue();
        for (long i = first; i < first + series.get("count").longValue(); i++) {
            for (long times = 0; times <= Math.floorMod(i, most); times++) {
                events.add(new Event(i, text.isEmpty() ? (Object) i : StringData.fromString(text + i)));
            }
        }
    }

    private static Object value(JsonNode stored) {
        if (stored.isNull()) {
            return null;
        }
        String dtype = stored.fieldNames().next();
        JsonNode value = stored.get(dtype);
        if (dtype.equals("float") && value.isTextual()) {
            return value.textValue().equals("nan") ? Double.NaN : MINUS_NAN;
        }
        Object found = Golden.value(dtype, value);
        return found instanceof String ? StringData.fromString((String) found) : found;
    }
}
