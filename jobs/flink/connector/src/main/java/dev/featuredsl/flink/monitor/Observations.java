package dev.featuredsl.flink.monitor;

import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonParser;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonToken;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.types.Row;

/**
 * {@code fdsl_observations(features, prediction, latency_ms, error, fallback)}: everything that a monitor counts of one
 * prediction, one row each.
 *
 * <p>{@code features} and {@code prediction} are JSON texts. A scalar is a row; fields of nested objects are named
 * {@code outer.inner}; every element of an array is a row of the same name. Of the prediction, a bare number and the
 * fields {@code probability} and {@code score} count, as {@code $prediction...} and per model version. Errors and
 * fallback flags are {@code none} where there are none. At most one of num, str and truth is not null.
 */
@FunctionHint(output = @DataTypeHint("ROW<series STRING, per_version BOOLEAN, num DOUBLE, str STRING, truth BOOLEAN>"))
public final class Observations extends TableFunction<Row> {
    private static final long serialVersionUID = 1L;
    private static final String PREDICTION = "$prediction";
    private static final String NONE = "none";
    private static final JsonFactory FACTORY = new JsonFactory();

    /** Emits the rows of one prediction; texts that are not JSON give no rows. */
    public void eval(String features, String prediction, Double latencyMs, String error, String fallback) {
        walk(features, false);
        walk(prediction, true);
        collect(Row.of("$latency_ms", false, latencyMs, null, null));
        collect(Row.of("$error", false, null, error == null ? NONE : error, null));
        collect(Row.of("$fallback", false, null, flags(fallback), null));
    }

    private static String flags(String fallback) {
        if (fallback == null || fallback.length() <= 2) {
            return NONE;
        }
        return fallback.substring(1, fallback.length() - 1).replace("\"", "");
    }

    private void walk(String json, boolean prediction) {
        if (json == null) {
            return;
        }
        try (JsonParser parser = FACTORY.createParser(json)) {
            value(parser, parser.nextToken(), "", prediction);
        } catch (IOException malformed) {
            // The format has checked the record; a text that is no JSON has nothing to count.
            return;
        }
    }

    private void value(JsonParser parser, JsonToken token, String name, boolean prediction) throws IOException {
        if (token == JsonToken.START_OBJECT) {
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String field = parser.currentName();
                value(parser, parser.nextToken(), name.isEmpty() ? field : name + "." + field, prediction);
            }
        } else if (token == JsonToken.START_ARRAY) {
            for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
                value(parser, next, name, prediction);
            }
        } else if (prediction) {
            if (name.isEmpty()) {
                scalar(parser, token, PREDICTION, true);
            } else if ("probability".equals(name) || "score".equals(name)) {
                scalar(parser, token, PREDICTION + "." + name, true);
            }
        } else {
            scalar(parser, token, name, false);
        }
    }

    private void scalar(JsonParser parser, JsonToken token, String series, boolean perVersion) throws IOException {
        Double number = null;
        String text = null;
        Boolean truth = null;
        if (token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT) {
            number = parser.getDoubleValue();
        } else if (token == JsonToken.VALUE_STRING) {
            text = parser.getText();
        } else if (token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE) {
            truth = token == JsonToken.VALUE_TRUE;
        }
        collect(Row.of(series, perVersion, number, text, truth));
    }
}
