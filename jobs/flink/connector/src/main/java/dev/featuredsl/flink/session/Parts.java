package dev.featuredsl.flink.session;

import dev.featuredsl.flink.wide.WideBytes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.types.Row;

/**
 * What is kept of the rows of a session, and how rows add to it: the parts in order, each with its columns of a row.
 *
 * <p>{@code [{"merge": "sum"}, {"kind": "top_k", "params": "{\"k\":3}", "values": 1}]}: a number takes one column and is
 * merged by sum, min or max; a state of variable width (see {@code fdsl_wide}) takes a condition and its values.
 */
final class Parts {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final List<Part> parts = new ArrayList<>();

    Parts(String spec) {
        try {
            for (JsonNode part : JSON.readTree(spec)) {
                parts.add(part.has("merge") ? new NumberPart(part.get("merge").textValue()) : new WidePart(part));
            }
        } catch (IOException error) {
            throw new IllegalArgumentException("fdsl_sessions: the parts are no JSON: " + spec, error);
        }
    }

    /** The cells of the parts with one more row, whose columns start at {@code at}. */
    byte[] add(byte[] stored, long timeUs, Row row, int at) {
        Object[] cells = stored == null ? new Object[parts.size()] : Cells.read(stored, parts.size());
        int column = at;
        for (int i = 0; i < cells.length; i++) {
            Part part = parts.get(i);
            cells[i] = part.add(cells[i], timeUs, row, column);
            column += part.columns;
        }
        return Cells.write(cells);
    }

    /** The rows of both. */
    byte[] merge(byte[] left, byte[] right) {
        Object[] cells = Cells.read(left, parts.size());
        Object[] others = Cells.read(right, parts.size());
        for (int i = 0; i < cells.length; i++) {
            cells[i] = parts.get(i).merge(cells[i], others[i]);
        }
        return Cells.write(cells);
    }

    private abstract static class Part {
        final int columns;

        Part(int columns) {
            this.columns = columns;
        }

        abstract Object add(Object cell, long timeUs, Row row, int at);

        abstract Object merge(Object left, Object right);
    }

    /** A sum, the least or the greatest of numbers; nulls are skipped. */
    private static final class NumberPart extends Part {
        private final String merge;

        NumberPart(String merge) {
            super(1);
            this.merge = merge;
            if (!List.of("sum", "min", "max").contains(merge)) {
                throw new IllegalArgumentException("fdsl_sessions: numbers merge by sum, min or max, not by " + merge);
            }
        }

        @Override
        Object add(Object cell, long timeUs, Row row, int at) {
            Object value = row.getField(at);
            return merge(cell, merge.equals("sum") && value instanceof Long ? new Total((Long) value) : value);
        }

        @Override
        Object merge(Object left, Object right) {
            if (left == null || right == null) {
                return left == null ? right : left;
            }
            if (merge.equals("sum")) {
                return left instanceof Total ? ((Total) left).plus((Total) right) : (Object) ((Double) left + (Double) right);
            }
            int order = left instanceof Long
                    ? Long.compare((Long) left, (Long) right)
                    : Double.compare((Double) left, (Double) right);
            return (merge.equals("min") ? order <= 0 : order >= 0) ? left : right;
        }
    }

    /** A state of variable width. */
    private static final class WidePart extends Part {
        private final WideBytes states;

        WidePart(JsonNode part) {
            super(1 + part.get("values").intValue());
            states = new WideBytes(part.get("kind").textValue(), part.get("params").textValue());
        }

        @Override
        Object add(Object cell, long timeUs, Row row, int at) {
            if (!Boolean.TRUE.equals(row.getField(at))) {
                return cell;
            }
            Object[] values = new Object[columns - 1];
            for (int i = 0; i < values.length; i++) {
                values[i] = row.getField(at + 1 + i);
            }
            return states.add((byte[]) cell, timeUs, values);
        }

        @Override
        Object merge(Object left, Object right) {
            return states.merge((byte[]) left, (byte[]) right);
        }
    }
}
