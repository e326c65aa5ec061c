package dev.featuredsl.flink.redis;

import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.apache.flink.table.types.logical.LogicalType;

/** What a table writes. Adding one is a row here, an encoder and a script. */
enum Mode {
    /** Tiles of fixed width into a packed string. */
    RING("ring", true, RingEncoder::new),
    /** Tiles of variable width into fields of a hash. */
    TILES("tiles", true, TilesEncoder::new),
    /** The newest sessions into a field of a hash. */
    SESSIONS("sessions", true, SessionsEncoder::new),
    /** Latest values into fields of a hash. */
    FIELDS("fields", false, FieldsEncoder::new);

    private static final int[] TILE_KEY = {0, 1};
    private static final int[] ENTITY_KEY = {0};

    final String option;
    final boolean hasTiles;
    private final BiFunction<SinkConfig, List<LogicalType>, RowEncoder> encoder;

    Mode(String option, boolean hasTiles, BiFunction<SinkConfig, List<LogicalType>, RowEncoder> encoder) {
        this.option = option;
        this.hasTiles = hasTiles;
        this.encoder = encoder;
    }

    static Mode of(String option) {
        for (Mode mode : values()) {
            if (mode.option.equals(option)) {
                return mode;
            }
        }
        String known = Arrays.stream(values()).map(m -> "'" + m.option + "'").collect(Collectors.joining(", "));
        SinkConfig.check(false, "mode is '" + option + "'; known are " + known);
        return null;
    }

    RowEncoder encoder(SinkConfig config, List<LogicalType> types) {
        return encoder.apply(config, types);
    }

    void checkPrimaryKey(int[] found) {
        SinkConfig.check(Arrays.equals(found, hasTiles ? TILE_KEY : ENTITY_KEY),
                "PRIMARY KEY must be " + (hasTiles ? "of the first two columns, (k, tile) or (k, first_us)" : "(k), the first column"));
    }
}
