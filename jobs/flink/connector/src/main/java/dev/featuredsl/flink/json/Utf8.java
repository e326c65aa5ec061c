package dev.featuredsl.flink.json;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Checks of text that Jackson does not make. */
final class Utf8 {
    private Utf8() {}

    /** Rejects bytes that are not UTF-8, NUL bytes and a byte order mark (which would switch Jackson to UTF-16). */
    static void check(byte[] bytes) throws Rejection {
        boolean ascii = true;
        for (byte b : bytes) {
            if (b == 0) {
                throw new Rejection(Rejection.BAD_JSON, "the record contains a NUL byte");
            }
            ascii &= b > 0;
        }
        if (ascii) {
            return;
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
        } catch (CharacterCodingException e) {
            throw new Rejection(Rejection.BAD_UTF8, "the record is not UTF-8: " + e.getMessage());
        }
        if (bytes.length > 2 && bytes[0] == (byte) 0xEF && bytes[1] == (byte) 0xBB && bytes[2] == (byte) 0xBF) {
            throw new Rejection(Rejection.BAD_JSON, "the record starts with a byte order mark");
        }
    }

    /** Rejects half of a surrogate pair, which an escape can smuggle into a string. */
    static void checkSurrogates(String text) throws Rejection {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            boolean pair = Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1));
            if (!pair) {
                throw new Rejection(Rejection.BAD_UTF8, "an escaped character is half of a surrogate pair");
            }
            i++;
        }
    }

    /** The JSON text of {@code bytes[from, to)} without white space outside strings; numbers keep their spelling. */
    static byte[] compact(byte[] bytes, int from, int to) {
        byte[] out = new byte[to - from];
        int n = 0;
        boolean inString = false;
        for (int i = from; i < to; i++) {
            byte b = bytes[i];
            if (inString) {
                out[n++] = b;
                if (b == '\\') {
                    out[n++] = bytes[++i];
                } else {
                    inString = b != '"';
                }
            } else if (b != ' ' && b != '\n' && b != '\t' && b != '\r') {
                out[n++] = b;
                inString = b == '"';
            }
        }
        return n == out.length ? out : Arrays.copyOf(out, n);
    }
}
