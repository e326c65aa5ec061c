package dev.featuredsl.flink.wide;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.FunctionDefinition;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.inference.ArgumentCount;
import org.apache.flink.table.types.inference.CallContext;
import org.apache.flink.table.types.inference.ConstantArgumentCount;
import org.apache.flink.table.types.inference.InputTypeStrategy;
import org.apache.flink.table.types.inference.Signature;
import org.apache.flink.table.types.logical.LogicalTypeFamily;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/** {@code (kind STRING, params STRING, condition BOOLEAN, ts BIGINT, value, tie...)}; texts come undecoded. */
final class WideArguments implements InputTypeStrategy {
    private static final int VALUES = 4;

    @Override
    public ArgumentCount getArgumentCount() {
        return ConstantArgumentCount.from(VALUES + 1);
    }

    @Override
    public Optional<List<DataType>> inferInputTypes(CallContext call, boolean throwOnFailure) {
        List<DataType> given = call.getArgumentDataTypes();
        List<DataType> wanted = new ArrayList<>();
        for (int i = 0; i < given.size(); i++) {
            Optional<DataType> type = wanted(i, given.get(i));
            if (type.isEmpty()) {
                return call.fail(throwOnFailure, "argument %s is %s, not %s", i + 1, given.get(i), expected(i));
            }
            wanted.add(type.get());
        }
        Optional<String> refused = refused(call);
        if (refused.isPresent()) {
            return call.fail(throwOnFailure, "%s", refused.get());
        }
        return Optional.of(wanted);
    }

    private static Optional<DataType> wanted(int place, DataType given) {
        LogicalTypeRoot root = given.getLogicalType().getTypeRoot();
        boolean text = root.getFamilies().contains(LogicalTypeFamily.CHARACTER_STRING);
        boolean whole = root.getFamilies().contains(LogicalTypeFamily.INTEGER_NUMERIC);
        boolean real = root.getFamilies().contains(LogicalTypeFamily.APPROXIMATE_NUMERIC);
        boolean truth = root == LogicalTypeRoot.BOOLEAN;
        if (text && place != 2 && place != 3) {
            return Optional.of(given.bridgedTo(StringData.class));
        }
        if (place == 3 && whole) {
            return Optional.of(root == LogicalTypeRoot.BIGINT ? given : DataTypes.BIGINT());
        }
        boolean fits = place == 2 ? truth : place >= VALUES && (whole || real || truth);
        return fits ? Optional.of(given) : Optional.empty();
    }

    private static String expected(int place) {
        switch (place) {
            case 0:
                return "a STRING, the kind";
            case 1:
                return "a STRING, its parameters";
            case 2:
                return "a BOOLEAN, the condition";
            case 3:
                return "a BIGINT, the event time in microseconds";
            default:
                return "STRING, a whole number, DOUBLE or BOOLEAN";
        }
    }

    /** Why the literals are refused; the function looks again. */
    private static Optional<String> refused(CallContext call) {
        Optional<String> kind = literal(call, 0);
        Optional<String> params = literal(call, 1);
        if (kind.isEmpty() || params.isEmpty()) {
            return Optional.empty();
        }
        try {
            Spec.of(kind.get(), params.get());
            return Optional.empty();
        } catch (IllegalArgumentException error) {
            return Optional.of(error.getMessage());
        }
    }

    /** Later stages of planning split the aggregate, see no literals and say so by the exception. */
    private static Optional<String> literal(CallContext call, int place) {
        try {
            return call.isArgumentLiteral(place) ? call.getArgumentValue(place, String.class) : Optional.empty();
        } catch (UnsupportedOperationException split) {
            return Optional.empty();
        }
    }

    @Override
    public List<Signature> getExpectedSignatures(FunctionDefinition definition) {
        return List.of(Signature.of(
                Signature.Argument.of("kind", "STRING"),
                Signature.Argument.of("params", "STRING"),
                Signature.Argument.of("condition", "BOOLEAN"),
                Signature.Argument.of("ts", "BIGINT"),
                Signature.Argument.ofGroup("value")));
    }
}
