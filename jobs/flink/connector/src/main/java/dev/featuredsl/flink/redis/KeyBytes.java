package dev.featuredsl.flink.redis;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.apache.flink.table.data.StringData;

/** Redis keys {@code prefix{key}:suffix}; the braces are the hash tag that keeps both keys of an entity together. */
final class KeyBytes implements Serializable {
    private static final long serialVersionUID = 1L;
    private final byte[] before;
    private final byte[] after;

    KeyBytes(String prefix, char suffix) {
        before = (prefix + "{").getBytes(StandardCharsets.UTF_8);
        after = ("}:" + suffix).getBytes(StandardCharsets.UTF_8);
    }

    byte[] of(StringData key) {
        byte[] text = key.toBytes();
        byte[] out = new byte[before.length + text.length + after.length];
        System.arraycopy(before, 0, out, 0, before.length);
        System.arraycopy(text, 0, out, before.length, text.length);
        System.arraycopy(after, 0, out, before.length + text.length, after.length);
        return out;
    }
}
