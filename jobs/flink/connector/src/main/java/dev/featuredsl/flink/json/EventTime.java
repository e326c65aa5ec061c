package dev.featuredsl.flink.json;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;

/** Times of a record: an integer in the unit of the table, or ISO 8601 with a zone; microseconds inside. */
final class EventTime {
    /** The field of a heartbeat that does not know the name and the unit of its topic's time; in milliseconds. */
    static final String OF_HEARTBEATS = "ts";
    private static final long[] UNITS = {1_000_000, 1_000, 1};
    private static final String[] UNIT_NAMES = {"seconds", "milliseconds", "microseconds"};

    private EventTime() {}

    /** The time of a heartbeat by {@link #OF_HEARTBEATS}; null where that is neither a whole number nor a text. */
    static Long ofHeartbeat(Object value, StrictJsonConfig config) throws Rejection {
        if (value instanceof String) {
            return fromText(OF_HEARTBEATS, (String) value, config);
        }
        if (!(value instanceof Integer || value instanceof Long)) {
            return null;
        }
        long millis = ((Number) value).longValue();
        if (!fits(millis, 1_000, config)) {
            throw new Rejection(Rejection.BAD_TIME,
                    "field " + OF_HEARTBEATS + ": " + millis + " is outside the accepted years when read as milliseconds");
        }
        return millis * 1_000;
    }

    static long fromInteger(String field, long value, StrictJsonConfig config) throws Rejection {
        if (fits(value, config.unitMicros, config)) {
            return value * config.unitMicros;
        }
        StringBuilder detail = new StringBuilder("field " + field + ": " + value + " is outside the accepted years");
        for (int i = 0; i < UNITS.length; i++) {
            if (UNITS[i] == config.unitMicros) {
                detail.append(" when read as ").append(UNIT_NAMES[i]);
            }
        }
        for (int i = 0; i < UNITS.length; i++) {
            if (UNITS[i] != config.unitMicros && fits(value, UNITS[i], config)) {
                detail.append("; it would fit as ").append(UNIT_NAMES[i]);
                break;
            }
        }
        throw new Rejection(Rejection.BAD_TIME, detail.toString());
    }

    static long fromText(String field, String text, StrictJsonConfig config) throws Rejection {
        long micros;
        try {
            Instant instant = OffsetDateTime.parse(text, DateTimeFormatter.ISO_OFFSET_DATE_TIME).toInstant();
            micros = Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000L), instant.getNano() / 1_000);
        } catch (DateTimeException | ArithmeticException e) {
            throw new Rejection(Rejection.BAD_TIME, "field " + field + ": '" + text
                    + "' is not an ISO 8601 time with a zone, such as 2026-01-02T03:04:05Z");
        }
        if (!config.inRange(micros)) {
            throw new Rejection(Rejection.BAD_TIME, "field " + field + ": " + text + " is outside the accepted years");
        }
        return micros;
    }

    private static boolean fits(long value, long unit, StrictJsonConfig config) {
        long high = Math.multiplyHigh(value, unit);
        long low = value * unit;
        boolean exact = (high == 0 && low >= 0) || (high == -1 && low < 0);
        return exact && config.inRange(low);
    }
}
