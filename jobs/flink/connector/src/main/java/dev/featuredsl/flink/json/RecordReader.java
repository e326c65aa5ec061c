package dev.featuredsl.flink.json;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonParser;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonToken;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.StreamReadConstraints;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.StreamReadFeature;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.json.JsonReadFeature;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/**
 * Reads one record into a row.
 *
 * <p>What is wrong with the JSON itself goes first; then what is wrong with a column, in the order of the record; then
 * required columns that are missing; then the event time.
 */
final class RecordReader {
    private static final int MAX_DEPTH = 64;
    private static final String HEARTBEAT = "heartbeat";

    private final Columns columns;
    private final StrictJsonConfig config;
    private final JsonFactory factory;

    private byte[] message;
    private GenericRowData row;
    private Rejection problem;
    private Rejection timeProblem;
    private boolean heartbeat;
    private Long time;
    private Object heartbeatTime;

    RecordReader(Columns columns, StrictJsonConfig config) {
        this.columns = columns;
        this.config = config;
        this.factory = JsonFactory.builder()
                .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS) // so that NaN has a reason of its own
                .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(MAX_DEPTH).build())
                .build();
    }

    /** Fills the row; true for a heartbeat, whose data columns stay null. */
    boolean read(byte[] bytes, GenericRowData target) throws Rejection {
        checkBytes(bytes);
        message = bytes;
        row = target;
        problem = null;
        timeProblem = null;
        heartbeat = false;
        time = null;
        heartbeatTime = null;
        try (JsonParser parser = factory.createParser(bytes)) {
            readObject(parser);
        } catch (IOException | RuntimeException e) {
            throw JsonErrors.rejection(e);
        }
        finish();
        return heartbeat;
    }

    private void checkBytes(byte[] bytes) throws Rejection {
        if (bytes == null) {
            throw new Rejection(Rejection.NULL_VALUE, "the record has no value");
        }
        if (bytes.length > config.maxBytes) {
            throw new Rejection(
                    Rejection.TOO_LARGE, bytes.length + " bytes; the limit is " + config.maxBytes);
        }
        Utf8.check(bytes);
    }

    private void readObject(JsonParser parser) throws IOException, Rejection {
        JsonToken first = parser.nextToken();
        if (first == null) {
            throw new Rejection(Rejection.BAD_JSON, "the record is empty");
        }
        if (first != JsonToken.START_OBJECT) {
            checkValue(parser);
            requireEnd(parser);
            throw new Rejection(Rejection.NOT_OBJECT, "a JSON object is needed, found " + JsonErrors.kind(first));
        }
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            Utf8.checkSurrogates(name);
            parser.nextToken();
            readField(parser, name);
        }
        requireEnd(parser);
    }

    private static void requireEnd(JsonParser parser) throws IOException, Rejection {
        if (parser.nextToken() != null) {
            throw new Rejection(Rejection.BAD_JSON, "there is more text after the end of the JSON value");
        }
    }

    private void readField(JsonParser parser, String name) throws IOException, Rejection {
        JsonToken token = parser.currentToken();
        int start = (int) parser.currentTokenLocation().getByteOffset();
        checkValue(parser);
        int end = (int) parser.currentLocation().getByteOffset();
        if (token == JsonToken.VALUE_NULL) {
            return;
        }
        heartbeat |= token == JsonToken.VALUE_TRUE && HEARTBEAT.equals(name);
        if (EventTime.OF_HEARTBEATS.equals(name)) {
            heartbeatTime = token == JsonToken.VALUE_STRING ? parser.getText()
                    : token == JsonToken.VALUE_NUMBER_INT ? parser.getNumberValue() : null;
        }
        try {
            Columns.Column column = columns.data(name);
            if (name.equals(config.eventTime)) {
                time = readTime(parser, token, name);
                if (column != null && column.type == LogicalTypeRoot.BIGINT) {
                    row.setField(column.position, Math.floorDiv(time, config.unitMicros));
                    return;
                }
            }
            if (column == null) {
                return;
            }
            if (config.timeColumns.contains(name)) {
                row.setField(column.position, Math.floorDiv(readTime(parser, token, name), config.unitMicros));
            } else {
                row.setField(column.position, readColumn(parser, token, column, start, end));
            }
        } catch (Rejection rejection) {
            problem = problem == null ? rejection : problem;
            timeProblem = name.equals(config.eventTime) ? rejection : timeProblem;
        }
    }

    private long readTime(JsonParser parser, JsonToken token, String name) throws IOException, Rejection {
        switch (token) {
            case VALUE_NUMBER_INT:
                return EventTime.fromInteger(name, parser.getLongValue(), config);
            case VALUE_NUMBER_FLOAT:
                double value = parser.getDoubleValue();
                if (value == Math.rint(value) && Math.abs(value) < 0x1p62) {
                    return EventTime.fromInteger(name, (long) value, config);
                }
                throw new Rejection(Rejection.BAD_TIME, "field " + name + ": " + value + " is not a whole number");
            case VALUE_STRING:
                return EventTime.fromText(name, parser.getText(), config);
            default:
                throw new Rejection(Rejection.BAD_TIME,
                        "field " + name + ": a time is an integer or a text, found " + JsonErrors.kind(token));
        }
    }

    private Object readColumn(JsonParser parser, JsonToken token, Columns.Column column, int start, int end)
            throws IOException, Rejection {
        switch (column.type) {
            case VARCHAR:
                if (token == JsonToken.VALUE_STRING) {
                    return StringData.fromString(parser.getText());
                }
                if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
                    return StringData.fromBytes(Utf8.compact(message, start, end));
                }
                break;
            case BIGINT:
                if (token == JsonToken.VALUE_NUMBER_INT) {
                    return parser.getLongValue();
                }
                break;
            case INTEGER:
                if (token == JsonToken.VALUE_NUMBER_INT) {
                    return toInt(column.name, parser.getLongValue());
                }
                break;
            case DOUBLE:
                if (token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT) {
                    return parser.getDoubleValue();
                }
                break;
            case ARRAY:
                if (token == JsonToken.START_ARRAY) {
                    return readArray(column, start, end);
                }
                break;
            default:
                if (token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE) {
                    return token == JsonToken.VALUE_TRUE;
                }
        }
        throw new Rejection(Rejection.BAD_TYPE,
                "field " + column.name + " is " + column.spelled() + ", found " + JsonErrors.kind(token));
    }

    /** The elements of the array that stands in these bytes of the message; it has been checked as JSON. */
    private GenericArrayData readArray(Columns.Column column, int start, int end) throws IOException, Rejection {
        List<Object> elements = new ArrayList<>();
        try (JsonParser parser = factory.createParser(message, start, end - start)) {
            parser.nextToken();
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                elements.add(readElement(parser, column));
            }
        }
        return new GenericArrayData(elements.toArray(emptyArray(column.element)));
    }

    /** Flink casts what is in an array of BIGINT to {@code Long[]}, so {@code Object[]} will not do. */
    private static Object[] emptyArray(LogicalTypeRoot element) {
        switch (element) {
            case BIGINT:
                return new Long[0];
            case DOUBLE:
                return new Double[0];
            default:
                return new StringData[0];
        }
    }

    private static Object readElement(JsonParser parser, Columns.Column column) throws IOException, Rejection {
        JsonToken token = parser.currentToken();
        if (column.element == LogicalTypeRoot.VARCHAR && token == JsonToken.VALUE_STRING) {
            return StringData.fromString(parser.getText());
        }
        if (column.element == LogicalTypeRoot.BIGINT && token == JsonToken.VALUE_NUMBER_INT) {
            return parser.getLongValue();
        }
        boolean number = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
        if (column.element == LogicalTypeRoot.DOUBLE && number) {
            return parser.getDoubleValue();
        }
        throw new Rejection(Rejection.BAD_TYPE, "field " + column.name + " is " + column.spelled()
                + ", found " + JsonErrors.kind(token) + " in it");
    }

    private static int toInt(String name, long value) throws Rejection {
        if (value != (int) value) {
            throw new Rejection(Rejection.OUT_OF_RANGE, "field " + name + ": " + value + " does not fit 32 bits");
        }
        return (int) value;
    }

    /** Checks the current value, and everything in it when it is an object or an array; ends on its last token. */
    private static void checkValue(JsonParser parser) throws IOException, Rejection {
        int depth = 0;
        do {
            JsonToken token = parser.currentToken();
            switch (token) {
                case START_OBJECT:
                case START_ARRAY:
                    depth++;
                    break;
                case END_OBJECT:
                case END_ARRAY:
                    depth--;
                    break;
                default:
                    checkScalar(parser, token);
            }
        } while (depth > 0 && parser.nextToken() != null);
    }

    private static void checkScalar(JsonParser parser, JsonToken token) throws IOException, Rejection {
        switch (token) {
            case VALUE_STRING:
            case FIELD_NAME:
                Utf8.checkSurrogates(parser.getText());
                break;
            case VALUE_NUMBER_INT:
                if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
                    throw new Rejection(
                            Rejection.OUT_OF_RANGE, JsonErrors.shorten(parser.getText()) + " does not fit a 64-bit integer");
                }
                break;
            case VALUE_NUMBER_FLOAT:
                if (!Double.isFinite(parser.getDoubleValue())) {
                    throw new Rejection(
                            Rejection.NOT_FINITE, JsonErrors.shorten(parser.getText()) + " is not a finite 64-bit float");
                }
                break;
            default:
        }
    }

    private void finish() throws Rejection {
        if (heartbeat) {
            for (int i = 0; i < columns.count; i++) {
                row.setField(i, null);
            }
            problem = timeProblem; // a heartbeat has no data that could be wrong
            time = time == null && problem == null ? EventTime.ofHeartbeat(heartbeatTime, config) : time;
        } else {
            if (problem != null) {
                throw problem;
            }
            for (String name : config.required) {
                if (row.isNullAt(columns.data(name).position)) {
                    throw new Rejection(Rejection.MISSING_FIELD, "field " + name + " is missing or null");
                }
            }
        }
        if (time == null) {
            throw problem != null ? problem
                    : new Rejection(Rejection.MISSING_FIELD, "field " + config.eventTime + " (event time) is missing or null");
        }
        set(columns.time, time);
        set(columns.heartbeat, heartbeat);
        set(columns.raw, columns.raw < 0 ? null : StringData.fromBytes(message));
    }

    private void set(int position, Object value) {
        if (position >= 0) {
            row.setField(position, value);
        }
    }
}
