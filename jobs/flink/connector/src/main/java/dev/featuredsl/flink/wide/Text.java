package dev.featuredsl.flink.wide;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A text as its UTF-8 bytes, which order like its code points. Never changed. */
final class Text implements Comparable<Text> {
    final byte[] utf8;
    private final int hash;

    Text(byte[] utf8) {
        this.utf8 = utf8;
        this.hash = Arrays.hashCode(utf8);
    }

    Text(String text) {
        this(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public int compareTo(Text other) {
        return Arrays.compareUnsigned(utf8, other.utf8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Text && Arrays.equals(utf8, ((Text) other).utf8);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public String toString() {
        return new String(utf8, StandardCharsets.UTF_8);
    }
}
