package dev.featuredsl.flink.redis;

import java.nio.charset.StandardCharsets;

/** Numbers as arguments of a Redis command. */
final class Ascii {
    private Ascii() {}

    static byte[] bytes(long value) {
        return Long.toString(value).getBytes(StandardCharsets.US_ASCII);
    }
}
