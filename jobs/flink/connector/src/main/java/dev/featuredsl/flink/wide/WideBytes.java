package dev.featuredsl.flink.wide;

import org.apache.flink.table.data.StringData;

/** One kind of state, kept as bytes by a caller; null stands for no row. */
public final class WideBytes {
    private final Spec spec;

    /** Refuses what {@code fdsl_wide} refuses. */
    public WideBytes(String kind, String params) {
        spec = Spec.of(kind, params);
    }

    /** The state with one more row; its values are those of an SQL row. */
    public byte[] add(byte[] state, long timeUs, Object[] values) {
        Object[] cells = new Object[values.length];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = Cells.of(values[i] instanceof String ? StringData.fromString((String) values[i]) : values[i]);
        }
        WideState kept = of(state);
        kept.add(timeUs, cells);
        return kept.toBytes();
    }

    /** The rows of both. */
    public byte[] merge(byte[] left, byte[] right) {
        if (left == null || right == null) {
            return left == null ? right : left;
        }
        WideState kept = of(left);
        kept.merge(of(right));
        return kept.toBytes();
    }

    private WideState of(byte[] state) {
        return state == null ? spec.empty() : spec.empty().fromBytes(state);
    }
}
