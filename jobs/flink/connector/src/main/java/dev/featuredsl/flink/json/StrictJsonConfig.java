package dev.featuredsl.flink.json;

import java.io.Serializable;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;

/** Options of the format {@code featuredsl-json}, checked. */
final class StrictJsonConfig implements Serializable {
    private static final long serialVersionUID = 1L;

    static final ConfigOption<String> EVENT_TIME = ConfigOptions.key("event-time").stringType().defaultValue("ts")
            .withDescription("Field with the event time; it need not be a column.");
    static final ConfigOption<String> TIME_UNIT = ConfigOptions.key("time-unit").stringType().defaultValue("ms")
            .withDescription("Unit of integer times: s, ms or us.");
    static final ConfigOption<String> TIME_RANGE = ConfigOptions.key("time-range").stringType()
            .defaultValue("1980/2100")
            .withDescription("First and last year of acceptable times, or 'none'.");
    static final ConfigOption<String> TIME_COLUMNS = ConfigOptions.key("time-columns").stringType().defaultValue("")
            .withDescription("Further BIGINT columns that hold times, joined by ';'.");
    static final ConfigOption<String> REQUIRED = ConfigOptions.key("required").stringType().defaultValue("")
            .withDescription("Columns that must be present and not null, joined by ';'.");
    static final ConfigOption<Integer> MAX_BYTES = ConfigOptions.key("max-bytes").intType().defaultValue(1 << 20)
            .withDescription("Longer records are rejected as too_large.");
    static final ConfigOption<Integer> PAYLOAD_LIMIT = ConfigOptions.key("payload-limit").intType()
            .defaultValue(700 * 1024)
            .withDescription("Bytes of a rejected record kept in _payload; base64 of them fits a Kafka record of 1 MiB.");

    final String eventTime;
    final long unitMicros;
    final long earliestMicros;
    final long latestMicros;
    final Set<String> timeColumns;
    final List<String> required;
    final int maxBytes;
    final int payloadLimit;

    StrictJsonConfig(ReadableConfig options) {
        eventTime = options.get(EVENT_TIME);
        unitMicros = unit(options.get(TIME_UNIT));
        String range = options.get(TIME_RANGE);
        earliestMicros = "none".equals(range) ? Long.MIN_VALUE : startOfYear(year(range, 0));
        latestMicros = "none".equals(range) ? Long.MAX_VALUE : startOfYear(year(range, 1) + 1) - 1;
        timeColumns = Set.copyOf(names(options.get(TIME_COLUMNS)));
        required = names(options.get(REQUIRED));
        maxBytes = options.get(MAX_BYTES);
        payloadLimit = options.get(PAYLOAD_LIMIT);
    }

    boolean inRange(long micros) {
        return earliestMicros <= micros && micros <= latestMicros;
    }

    private static List<String> names(String joined) {
        return Arrays.stream(joined.split(";")).map(String::trim).filter(s -> !s.isEmpty()).distinct()
                .collect(Collectors.toUnmodifiableList());
    }

    private static long unit(String name) {
        switch (name) {
            case "s":
                return 1_000_000;
            case "ms":
                return 1_000;
            case "us":
                return 1;
            default:
                throw new ValidationException("featuredsl-json.time-unit is '" + name + "'; known are s, ms and us");
        }
    }

    private static int year(String range, int part) {
        String[] years = range.split("/");
        if (years.length != 2 || !years[part].matches("\\d{4}")) {
            throw new ValidationException(
                    "featuredsl-json.time-range is '" + range + "'; write two years like '1980/2100', or 'none'");
        }
        return Integer.parseInt(years[part]);
    }

    private static long startOfYear(int year) {
        return LocalDate.of(year, 1, 1).atStartOfDay().toEpochSecond(ZoneOffset.UTC) * 1_000_000;
    }
}
