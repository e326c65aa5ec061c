package dev.featuredsl.flink.wide;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.types.inference.TypeInference;
import org.apache.flink.table.types.inference.TypeStrategies;

/**
 * {@code fdsl_wide(kind, params, condition, ts_us, value, tie...)}: the state of a wide aggregate as bytes.
 *
 * <p>Kind and parameters are literals: a row of featuredsl/wide/table.py and a JSON object. A row counts when the condition
 * is TRUE (not null) and it has a time. The bytes are those of the Python class, so any reader of stored states takes them;
 * NULL when no row counted. States merge: the planner may split the aggregate into a local and a global one.
 */
public final class WideFunction extends AggregateFunction<byte[], WideAccumulator> {
    private static final long serialVersionUID = 1L;

    private transient StringData kind;
    private transient StringData params;
    private transient Spec spec;

    @Override
    public TypeInference getTypeInference(DataTypeFactory types) {
        return TypeInference.newBuilder()
                .inputTypeStrategy(new WideArguments())
                .accumulatorTypeStrategy(
                        TypeStrategies.explicit(DataTypes.RAW(WideAccumulator.class, WideSerializer.INSTANCE)))
                .outputTypeStrategy(TypeStrategies.explicit(DataTypes.BYTES()))
                .build();
    }

    @Override
    public WideAccumulator createAccumulator() {
        return new WideAccumulator();
    }

    /** Takes a row. */
    public void accumulate(
            WideAccumulator accumulator, StringData kind, StringData params, Boolean condition, Long timeUs, Object... values) {
        if (condition == null || !condition || timeUs == null) {
            return;
        }
        Spec wanted = spec(kind, params);
        if (accumulator.state == null) {
            accumulator.start(wanted);
        } else if (accumulator.spec != wanted) {
            throw new IllegalArgumentException("fdsl_wide: kind and parameters are literals, but a row has " + kind + params
                    + " after " + accumulator.spec.kind + accumulator.spec.params);
        }
        Object[] cells = new Object[values.length];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = Cells.of(values[i]);
        }
        accumulator.state.add(timeUs, cells);
    }

    private Spec spec(StringData newKind, StringData newParams) {
        if (spec == null || !kind.equals(newKind) || !params.equals(newParams)) {
            if (newKind == null || newParams == null) {
                throw new IllegalArgumentException("fdsl_wide: kind and parameters are literals, not null");
            }
            spec = Spec.of(newKind.toString(), newParams.toString());
            kind = StringData.fromString(spec.kind);
            params = StringData.fromString(spec.params);
        }
        return spec;
    }

    /** Takes the rows of others. */
    public void merge(WideAccumulator accumulator, Iterable<WideAccumulator> others) {
        for (WideAccumulator other : others) {
            if (other.state != null) {
                if (accumulator.state == null) {
                    accumulator.start(other.spec);
                }
                accumulator.state.merge(other.state);
            }
        }
    }

    @Override
    public byte[] getValue(WideAccumulator accumulator) {
        return accumulator.state == null ? null : accumulator.state.toBytes();
    }
}
