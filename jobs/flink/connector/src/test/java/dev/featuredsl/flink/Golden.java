package dev.featuredsl.flink;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** The vectors that the Python codec is tested with too. */
public final class Golden {
    private Golden() {}

    /** The document {@code tests/golden/<name>.json}. */
    public static JsonNode read(String name) throws IOException {
        return new ObjectMapper().readTree(Path.of(System.getProperty("golden"), name + ".json").toFile());
    }

    /** Bytes of hexadecimal text. */
    public static byte[] bytes(String hex) {
        byte[] out = new byte[hex.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    /** Hexadecimal text of bytes. */
    public static String hex(byte[] bytes) {
        StringBuilder out = new StringBuilder();
        for (byte b : bytes) {
            out.append(String.format("%02x", b & 255));
        }
        return out.toString();
    }

    /** Hexadecimal text of the UTF-8 bytes. */
    public static String hex(String text) {
        return hex(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A stored value: integers are decimal texts, so that none loses a digit. */
    public static Object value(String dtype, JsonNode stored) {
        if (stored == null || stored.isNull()) {
            return null;
        }
        switch (dtype) {
            case "int":
                return Long.parseLong(stored.textValue());
            case "float":
                return stored.doubleValue();
            case "bool":
                return stored.booleanValue();
            case "int[]":
            case "float[]":
            case "str[]":
                Object[] elements = new Object[stored.size()];
                for (int i = 0; i < elements.length; i++) {
                    elements[i] = value(dtype.substring(0, dtype.length() - 2), stored.get(i));
                }
                return elements;
            default:
                return stored.textValue();
        }
    }
}
