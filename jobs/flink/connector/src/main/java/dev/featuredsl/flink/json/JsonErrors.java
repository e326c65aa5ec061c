package dev.featuredsl.flink.json;

import java.util.regex.Pattern;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonToken;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.exc.StreamConstraintsException;

/** Words for what Jackson found. */
final class JsonErrors {
    private static final int MAX_QUOTE = 32;
    private static final Pattern PLACE = Pattern.compile(" \\(start marker at .*?\\]\\)|, from `[^`]*`", Pattern.DOTALL);

    private JsonErrors() {}

    /** The reason that fits an error of the parser. */
    static Rejection rejection(Exception error) {
        String text = error instanceof JsonProcessingException
                ? ((JsonProcessingException) error).getOriginalMessage()
                : String.valueOf(error.getMessage());
        text = PLACE.matcher(text).replaceAll("");
        if (error instanceof StreamConstraintsException) {
            if (text.contains("nesting depth")) {
                return new Rejection(Rejection.TOO_DEEP, text);
            }
            return new Rejection(text.startsWith("Number") ? Rejection.OUT_OF_RANGE : Rejection.TOO_LARGE, text);
        }
        if (text.startsWith("Duplicate field")) {
            return new Rejection(Rejection.DUPLICATE_KEY, text);
        }
        String where = error instanceof JsonProcessingException && ((JsonProcessingException) error).getLocation() != null
                ? " at byte " + ((JsonProcessingException) error).getLocation().getByteOffset()
                : "";
        return new Rejection(Rejection.BAD_JSON, text + where);
    }

    /** The JSON type of a value, by its first token. */
    static String kind(JsonToken token) {
        switch (token) {
            case START_OBJECT:
                return "an object";
            case START_ARRAY:
                return "an array";
            case VALUE_STRING:
                return "a string";
            case VALUE_NUMBER_INT:
                return "an integer";
            case VALUE_NUMBER_FLOAT:
                return "a fraction";
            case VALUE_NULL:
                return "null";
            default:
                return "a boolean";
        }
    }

    static String shorten(String text) {
        return text.length() > MAX_QUOTE ? text.substring(0, MAX_QUOTE) + "…" : text;
    }
}
