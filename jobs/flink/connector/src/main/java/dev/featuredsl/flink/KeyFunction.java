package dev.featuredsl.flink;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.InputGroup;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * {@code fdsl_key(part, ...)}: the parts of an entity key as one text.
 *
 * <p>Parts are STRING, whole numbers or BOOLEAN, in entity order, joined by {@code |}; the characters {@code % | { }} are
 * percent-escaped. A null part gives null.
 */
public final class KeyFunction extends ScalarFunction {
    private static final long serialVersionUID = 1L;

    /** The key text, or null when a part is null. */
    @DataTypeHint("STRING")
    public String eval(@DataTypeHint(inputGroup = InputGroup.ANY) Object... parts) {
        if (parts.length == 0) {
            throw new IllegalArgumentException("fdsl_key needs at least one part");
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < parts.length; i++) {
            if (parts[i] == null) {
                return null;
            }
            if (i > 0) {
                out.append('|');
            }
            appendPart(out, parts[i]);
        }
        return out.toString();
    }

    private static void appendPart(StringBuilder out, Object part) {
        if (part instanceof String) {
            appendEscaped(out, (String) part);
        } else if (part instanceof Long || part instanceof Integer || part instanceof Short || part instanceof Byte) {
            out.append(((Number) part).longValue());
        } else if (part instanceof Boolean) {
            out.append((boolean) part);
        } else {
            throw new IllegalArgumentException(
                    "fdsl_key: a part is STRING, a whole number or BOOLEAN, not " + part.getClass().getSimpleName());
        }
    }

    private static void appendEscaped(StringBuilder out, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '%':
                    out.append("%25");
                    break;
                case '|':
                    out.append("%7C");
                    break;
                case '{':
                    out.append("%7B");
                    break;
                case '}':
                    out.append("%7D");
                    break;
                default:
                    out.append(c);
            }
        }
    }
}
