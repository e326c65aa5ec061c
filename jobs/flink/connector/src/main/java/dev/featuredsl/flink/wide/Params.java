package dev.featuredsl.flink.wide;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** The parameters of a call, one JSON object. */
final class Params {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String kind;
    private final String text;
    private final JsonNode given;
    private final Set<String> unused = new HashSet<>();

    Params(String kind, String text) {
        this.kind = kind;
        this.text = text;
        try {
            given = JSON.readTree(text);
        } catch (IOException error) {
            throw refused("are no JSON object");
        }
        if (!given.isObject()) {
            throw refused("are no JSON object");
        }
        given.fieldNames().forEachRemaining(unused::add);
    }

    /** An integer parameter within both ends. */
    long whole(String name, long low, long high) {
        JsonNode value = take(name);
        if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < low || value.longValue() > high) {
            throw refused("want an integer '" + name + "' from " + low + " to " + high);
        }
        return value.longValue();
    }

    /** A number from 0 to 1. */
    double share(String name) {
        JsonNode value = take(name);
        if (!value.isNumber() || value.doubleValue() < 0 || value.doubleValue() > 1) {
            throw refused("want a number '" + name + "' from 0 to 1");
        }
        return value.doubleValue();
    }

    /** Refuses parameters that were not asked for. */
    void finish() {
        if (!unused.isEmpty()) {
            throw refused("hold what the kind does not take: " + String.join(", ", unused));
        }
    }

    private JsonNode take(String name) {
        unused.remove(name);
        return given.path(name);
    }

    private IllegalArgumentException refused(String why) {
        return new IllegalArgumentException("fdsl_wide: the parameters " + text + " of " + kind + " " + why);
    }
}
