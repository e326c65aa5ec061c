package dev.featuredsl.flink;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.InputGroup;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * {@code fdsl_rank(ts_us, value, ...)}: a text that orders, by UTF-8 bytes and by UTF-16 units, like (time, values), null
 * lowest. It must do both: Flink compares texts that it has serialised by bytes, others by units.
 *
 * <p>So {@code MAX(fdsl_rank(...))} is the latest row by time, then sequence, then value, and it can be split into local
 * and global aggregation. The time and BIGINT values are 16 hexadecimal digits of {@code v XOR 2^63}; DOUBLE the same of
 * their order-preserving bits (-0.0 as 0.0); STRING ends with two NULs, a NUL inside it is followed by U+0001, a code
 * point c from U+D7FF on is U+D7FF and two digits of c - U+D7FF to the base 2^11, of which U+0100 is 0. A null value
 * is {@code 0}, any other starts with {@code 1}. An ARRAY is its elements as values, then {@code 0}; a null among them is
 * refused. A null time gives null, which MAX skips.
 */
public final class RankFunction extends ScalarFunction {
    private static final long serialVersionUID = 1L;
    /** The last character below every surrogate: from here on, units and code points order differently. */
    private static final char ESCAPE = '\uD7FF';
    private static final int DIGIT = 0x100;
    private static final int DIGIT_BITS = 11;

    /**
     * The rank of a time (BIGINT) and the values after it, or null when the time is null. The time is one of the
     * arguments: a single array after a parameter of its own would be taken for the list of arguments.
     */
    @DataTypeHint("STRING")
    public String eval(@DataTypeHint(inputGroup = InputGroup.ANY) Object... timeAndValues) {
        if (timeAndValues[0] == null) {
            return null;
        }
        StringBuilder out = new StringBuilder(24 * timeAndValues.length);
        appendHex(out, ((Number) timeAndValues[0]).longValue());
        for (int i = 1; i < timeAndValues.length; i++) {
            appendField(out, timeAndValues[i]);
        }
        return out.toString();
    }

    private static void appendField(StringBuilder out, Object value) {
        if (value == null) {
            out.append('0');
            return;
        }
        out.append('1');
        if (value instanceof String) {
            appendText(out, (String) value);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            appendHex(out, ((Number) value).longValue());
        } else if (value instanceof Double || value instanceof Float) {
            appendHex(out, ordered(((Number) value).doubleValue()));
        } else if (value instanceof Boolean) {
            out.append((boolean) value ? '1' : '0');
        } else if (value instanceof Object[]) {
            appendArray(out, (Object[]) value);
        } else {
            throw new IllegalArgumentException(
                    "fdsl_rank: a value is STRING, a whole number, DOUBLE, BOOLEAN or an ARRAY of them, not "
                            + value.getClass().getSimpleName());
        }
    }

    private static void appendArray(StringBuilder out, Object[] elements) {
        for (Object element : elements) {
            if (element == null) {
                throw new IllegalArgumentException("fdsl_rank: an array holds a null; elements are never null");
            }
            appendField(out, element);
        }
        out.append('0');
    }

    private static void appendText(StringBuilder out, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= ESCAPE) {
                int point = text.codePointAt(i);
                i += Character.charCount(point) - 1;
                appendEscaped(out, point - ESCAPE);
                continue;
            }
            out.append(c);
            if (c == 0) {
                out.append('\u0001');
            }
        }
        out.append('\0').append('\0');
    }

    private static void appendEscaped(StringBuilder out, int above) {
        out.append(ESCAPE).append((char) (DIGIT + (above >> DIGIT_BITS))).append((char) (DIGIT + (above & (1 << DIGIT_BITS) - 1)));
    }

    private static void appendHex(StringBuilder out, long value) {
        long bits = value ^ Long.MIN_VALUE;
        for (int shift = 60; shift >= 0; shift -= 4) {
            out.append(Character.forDigit((int) (bits >>> shift) & 15, 16));
        }
    }

    /** A long that orders like the double; -0.0 counts as 0.0, NaN is above everything. */
    private static long ordered(double value) {
        long bits = Double.doubleToLongBits(value + 0.0);
        return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
    }
}
