package dev.featuredsl.flink.json;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

/** Which column of the table stands where: data columns by name, special columns by their fixed names. */
final class Columns implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final Map<String, LogicalTypeRoot> SPECIAL = Map.of(
            "_reject", LogicalTypeRoot.VARCHAR,
            "_detail", LogicalTypeRoot.VARCHAR,
            "_payload", LogicalTypeRoot.VARCHAR,
            "_sha256", LogicalTypeRoot.VARCHAR,
            "_raw", LogicalTypeRoot.VARCHAR,
            "_heartbeat", LogicalTypeRoot.BOOLEAN,
            "_ts", LogicalTypeRoot.BIGINT);

    /** A data column: its position and SQL type; of an ARRAY also the type of its elements, else null. */
    static final class Column implements Serializable {
        private static final long serialVersionUID = 1L;
        final String name;
        final int position;
        final LogicalTypeRoot type;
        final LogicalTypeRoot element;

        Column(String name, int position, LogicalTypeRoot type, LogicalTypeRoot element) {
            this.name = name;
            this.position = position;
            this.type = type;
            this.element = element;
        }

        /** The type as definitions write it, for messages to their authors. */
        String spelled() {
            return type == LogicalTypeRoot.ARRAY ? "list[" + spelled(element) + "]" : spelled(type);
        }

        private static String spelled(LogicalTypeRoot type) {
            switch (type) {
                case VARCHAR:
                    return "str";
                case DOUBLE:
                    return "float";
                case BOOLEAN:
                    return "bool";
                default:
                    return "int";
            }
        }
    }

    final int count;
    final int reject;
    final int detail;
    final int payload;
    final int sha256;
    final int raw;
    final int heartbeat;
    final int time;
    private final HashMap<String, Column> data = new HashMap<>();

    Columns(RowType row) {
        List<RowType.RowField> fields = row.getFields();
        Map<String, Integer> special = new HashMap<>();
        for (int i = 0; i < fields.size(); i++) {
            String name = fields.get(i).getName();
            LogicalType type = fields.get(i).getType();
            requireNullable(name, type);
            if (SPECIAL.containsKey(name)) {
                requireType(name, type, SPECIAL.get(name));
                special.put(name, i);
            } else {
                data.put(name, column(name, i, type));
            }
        }
        count = fields.size();
        reject = special.getOrDefault("_reject", -1);
        detail = special.getOrDefault("_detail", -1);
        payload = special.getOrDefault("_payload", -1);
        sha256 = special.getOrDefault("_sha256", -1);
        raw = special.getOrDefault("_raw", -1);
        heartbeat = special.getOrDefault("_heartbeat", -1);
        time = special.getOrDefault("_ts", -1);
    }

    /** The data column of that name, or null. */
    Column data(String name) {
        return data.get(name);
    }

    /** The data column of that name; it must exist and be a BIGINT where {@code bigint} says so. */
    Column require(String option, String name, boolean bigint) {
        Column column = data.get(name);
        if (column == null || (bigint && column.type != LogicalTypeRoot.BIGINT)) {
            throw new ValidationException("featuredsl-json." + option + " names '" + name + "', which is no "
                    + (bigint ? "BIGINT " : "") + "column of the table; columns: " + data.keySet());
        }
        return column;
    }

    private static void requireNullable(String name, LogicalType type) {
        if (!type.isNullable()) {
            throw new ValidationException("featuredsl-json: column '" + name
                    + "' must be nullable, a rejected record leaves it null; use the option 'required' instead");
        }
    }

    private static void requireType(String name, LogicalType type, LogicalTypeRoot root) {
        if (type.getTypeRoot() != root) {
            throw new ValidationException("featuredsl-json: the special column '" + name + "' is " + root + ", not " + type);
        }
    }

    private static Column column(String name, int position, LogicalType type) {
        if (type.getTypeRoot() != LogicalTypeRoot.ARRAY) {
            return new Column(name, position, supported(name, type), null);
        }
        LogicalType element = type.getChildren().get(0);
        switch (element.getTypeRoot()) {
            case VARCHAR:
            case BIGINT:
            case DOUBLE:
                return new Column(name, position, LogicalTypeRoot.ARRAY, element.getTypeRoot());
            default:
                throw new ValidationException("featuredsl-json: column '" + name + "' is " + type
                        + "; supported are arrays of STRING, BIGINT and DOUBLE");
        }
    }

    private static LogicalTypeRoot supported(String name, LogicalType type) {
        switch (type.getTypeRoot()) {
            case VARCHAR:
            case BIGINT:
            case INTEGER:
            case DOUBLE:
            case BOOLEAN:
                return type.getTypeRoot();
            default:
                throw new ValidationException("featuredsl-json: column '" + name + "' is " + type
                        + "; supported are STRING, BIGINT, INT, DOUBLE, BOOLEAN and ARRAY (an object or array fits a STRING)");
        }
    }
}
