package dev.featuredsl.flink.wide;

import java.nio.ByteBuffer;
import org.apache.flink.table.data.StringData;

/**
 * Values in states: null, {@link Long}, {@link Double} (never -0.0), {@link Boolean} or {@link Text}. As bytes a tag
 * ({@code n i f b s}) and the value, big-endian; a text is its length as uint32 and its UTF-8 bytes.
 */
final class Cells {
    private Cells() {}

    /** The cell of a value of Flink. */
    static Object of(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Long) {
            return value;
        }
        if (value instanceof StringData) {
            return new Text(((StringData) value).toBytes());
        }
        if (value instanceof Double || value instanceof Float) {
            return ((Number) value).doubleValue() + 0.0;
        }
        if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        throw new IllegalArgumentException(
                "fdsl_wide: a value is STRING, a whole number, DOUBLE or BOOLEAN, not " + value.getClass().getSimpleName());
    }

    /** The number of a cell. */
    static double number(Object cell) {
        if (cell instanceof Number) {
            return ((Number) cell).doubleValue();
        }
        throw new IllegalArgumentException("fdsl_wide: this kind takes numbers, not " + named(cell));
    }

    /** The text of a cell, which may be null. */
    static Text text(Object cell) {
        if (cell == null || cell instanceof Text) {
            return (Text) cell;
        }
        throw new IllegalArgumentException("fdsl_wide: this kind takes STRING, not " + named(cell));
    }

    /** Null is lowest, NaN highest; texts by UTF-8 bytes. */
    static int compare(Object left, Object right) {
        if (left == null || right == null) {
            return Boolean.compare(left != null, right != null);
        }
        if (left instanceof Long && right instanceof Long) {
            return Long.compare((Long) left, (Long) right);
        }
        if (left instanceof Text && right instanceof Text) {
            return ((Text) left).compareTo((Text) right);
        }
        if (left instanceof Double && right instanceof Double) {
            return Double.compare((Double) left, (Double) right);
        }
        if (left instanceof Boolean && right instanceof Boolean) {
            return Boolean.compare((Boolean) left, (Boolean) right);
        }
        throw new IllegalArgumentException("fdsl_wide: values of one column are " + named(left) + " and " + named(right));
    }

    static int size(Object cell) {
        if (cell == null) {
            return 1;
        }
        if (cell instanceof Text) {
            return 5 + ((Text) cell).utf8.length;
        }
        return cell instanceof Boolean ? 2 : 9;
    }

    static void write(ByteBuffer out, Object cell) {
        if (cell == null) {
            out.put((byte) 'n');
        } else if (cell instanceof Text) {
            byte[] utf8 = ((Text) cell).utf8;
            out.put((byte) 's').putInt(utf8.length).put(utf8);
        } else if (cell instanceof Long) {
            out.put((byte) 'i').putLong((Long) cell);
        } else if (cell instanceof Double) {
            out.put((byte) 'f').putLong(Double.doubleToLongBits((Double) cell));
        } else {
            out.put((byte) 'b').put((byte) ((Boolean) cell ? 1 : 0));
        }
    }

    static Object read(ByteBuffer in) {
        byte tag = in.get();
        switch (tag) {
            case 'n':
                return null;
            case 'i':
                return in.getLong();
            case 'f':
                return in.getDouble() + 0.0;
            case 'b':
                return in.get() != 0;
            case 's':
                int length = in.getInt();
                if (length < 0 || length > in.remaining()) {
                    throw new IllegalArgumentException("a text of " + length + " bytes is cut off");
                }
                byte[] utf8 = new byte[length];
                in.get(utf8);
                return new Text(utf8);
            default:
                throw new IllegalArgumentException("no value has tag " + tag);
        }
    }

    static String named(Object cell) {
        if (cell == null) {
            return "null";
        }
        return cell instanceof Text ? "STRING" : cell.getClass().getSimpleName();
    }
}
