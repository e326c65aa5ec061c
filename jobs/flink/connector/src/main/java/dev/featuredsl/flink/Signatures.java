package dev.featuredsl.flink;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.inference.CallContext;
import org.apache.flink.table.types.inference.StateTypeStrategy;
import org.apache.flink.table.types.inference.StaticArgument;
import org.apache.flink.table.types.inference.StaticArgumentTrait;
import org.apache.flink.table.types.inference.TypeInference;
import org.apache.flink.table.types.inference.TypeStrategy;
import org.apache.flink.types.Row;

/** Signatures over tables of any columns, which annotations cannot say. State is kept until the function clears it. */
public final class Signatures {
    private Signatures() {}

    /** {@code (TABLE input PARTITION BY ..., BIGINT...)} with states by name, in the order of the eval method. */
    public static TypeInference of(
            EnumSet<StaticArgumentTrait> traits,
            List<String> numbers,
            LinkedHashMap<String, TypeStrategy> states,
            TypeStrategy output) {
        EnumSet<StaticArgumentTrait> all = EnumSet.of(StaticArgumentTrait.TABLE, StaticArgumentTrait.SET_SEMANTIC_TABLE);
        all.addAll(traits);
        List<StaticArgument> arguments = new ArrayList<>();
        arguments.add(StaticArgument.table("input", Row.class, false, all));
        numbers.forEach(name -> arguments.add(StaticArgument.scalar(name, DataTypes.BIGINT(), false)));
        LinkedHashMap<String, StateTypeStrategy> kept = new LinkedHashMap<>();
        states.forEach((name, type) -> kept.put(name, StateTypeStrategy.of(type, Duration.ZERO)));
        return TypeInference.newBuilder()
                .staticArguments(arguments)
                .stateTypeStrategies(kept)
                .outputTypeStrategy(output)
                .build();
    }

    /** The columns of the input from {@code first} on, without the last {@code less}. */
    public static Optional<DataType> columns(CallContext call, int first, int less) {
        return call.getTableSemantics(0).map(table -> {
            List<DataTypes.Field> fields = DataType.getFields(table.dataType());
            return DataTypes.ROW(fields.subList(first, fields.size() - less));
        });
    }
}
