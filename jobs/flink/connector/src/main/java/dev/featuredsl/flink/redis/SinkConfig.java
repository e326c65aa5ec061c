package dev.featuredsl.flink.redis;

import java.io.Serializable;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;

/** Options of the connector {@code featuredsl-redis}, checked. */
final class SinkConfig implements Serializable {
    private static final long serialVersionUID = 1L;

    static final ConfigOption<String> URL = ConfigOptions.key("url").stringType().noDefaultValue()
            .withDescription("redis://user:password@host:port/db, rediss:// for TLS, redis+cluster://host:port,host:port.");
    static final ConfigOption<String> MODE = ConfigOptions.key("mode").stringType().noDefaultValue()
            .withDescription("'ring' for tiles of numbers, 'tiles' for tiles of variable width, 'sessions', 'fields' for latest values.");
    static final ConfigOption<String> KEY_PREFIX = ConfigOptions.key("key-prefix").stringType().noDefaultValue()
            .withDescription("What stands before the braces of a key: 'group@version:'.");
    static final ConfigOption<Long> EXPIRE_AFTER = ConfigOptions.key("expire-after").longType().defaultValue(0L)
            .withDescription("Microseconds of event time after which a key expires; 0 = never.");
    static final ConfigOption<String> HEADER = ConfigOptions.key("header").stringType().noDefaultValue()
            .withDescription("ring: the 8 header bytes in hexadecimal.");
    static final ConfigOption<Integer> OFFSET = ConfigOptions.key("offset").intType().noDefaultValue()
            .withDescription("ring: byte at which the tier starts.");
    static final ConfigOption<Integer> SLOTS = ConfigOptions.key("slots").intType().noDefaultValue()
            .withDescription("ring, tiles: slots of the tier; sessions: how many of a key stay.");
    static final ConfigOption<Integer> SLOT_SIZE = ConfigOptions.key("slot-size").intType().noDefaultValue()
            .withDescription("ring: bytes of a slot, 32 + 8 per value column.");
    static final ConfigOption<Integer> TOTAL_SIZE = ConfigOptions.key("total-size").intType().noDefaultValue()
            .withDescription("ring: bytes of the whole ring.");
    static final ConfigOption<Long> HOP = ConfigOptions.key("hop").longType().noDefaultValue()
            .withDescription("ring, tiles: microseconds of a tile; sessions: the gap between two.");
    static final ConfigOption<Boolean> EXTEND_HASH = ConfigOptions.key("extend-hash").booleanType().defaultValue(false)
            .withDescription("ring: the hash of a key is kept for as long as its ring.");
    static final ConfigOption<String> FIELDS = ConfigOptions.key("fields").stringType().noDefaultValue()
            .withDescription("fields: hash field of every value column, joined by ';'.");
    static final ConfigOption<String> FIELD_PREFIX = ConfigOptions.key("field-prefix").stringType().noDefaultValue()
            .withDescription("tiles: what stands before the slot's number in a hash field: 't:<tier>:'; sessions: the field.");
    static final ConfigOption<Integer> MAX_BYTES = ConfigOptions.key("max-bytes").intType().defaultValue(1 << 20)
            .withDescription("tiles: bytes of a field; beyond, the large states of a tile are left out.");
    static final ConfigOption<String> MARK_KEY = ConfigOptions.key("mark-key").stringType().noDefaultValue()
            .withDescription("Hash that holds up to which time tiers are complete.");
    static final ConfigOption<String> MARK_FIELD = ConfigOptions.key("mark-field").stringType().noDefaultValue()
            .withDescription("Its field for this table: 'group@version/<tier>'. Without one nothing is marked.");
    static final ConfigOption<Long> MARK_EVERY = ConfigOptions.key("mark-every").longType().noDefaultValue()
            .withDescription("Microseconds of a period, at whose end by the watermark the table is marked complete.");
    static final ConfigOption<Duration> TIMEOUT =
            ConfigOptions.key("timeout").durationType().defaultValue(Duration.ofSeconds(2))
                    .withDescription("Wait for a connection and for an answer.");
    static final ConfigOption<Duration> RETRY_FOR =
            ConfigOptions.key("retry-for").durationType().defaultValue(Duration.ofMinutes(10))
                    .withDescription("Redis may be away for that long before the job fails.");
    static final ConfigOption<Integer> BATCH = ConfigOptions.key("batch").intType().defaultValue(200)
            .withDescription("Rows of one server call, which blocks Redis for about 2-5 us per row.");
    static final ConfigOption<Duration> LINGER =
            ConfigOptions.key("linger").durationType().defaultValue(Duration.ofMillis(2))
                    .withDescription("Wait for a fuller batch.");
    static final ConfigOption<Duration> HOLD =
            ConfigOptions.key("hold").durationType().defaultValue(Duration.ofSeconds(3))
                    .withDescription("Full batches of old events wait a twentieth of their age, at most so long, for later rows "
                            + "of the same places: a backlog writes fewer rows.");
    static final ConfigOption<Integer> MAX_PENDING = ConfigOptions.key("max-pending").intType().defaultValue(50_000)
            .withDescription("Rows that wait in memory before the job is held back.");

    static final Set<ConfigOption<?>> REQUIRED = Set.of(URL, MODE, KEY_PREFIX);
    static final Set<ConfigOption<?>> OPTIONAL = Set.of(EXPIRE_AFTER, HEADER, OFFSET, SLOTS, SLOT_SIZE, TOTAL_SIZE, HOP,
            EXTEND_HASH, FIELDS, FIELD_PREFIX, MAX_BYTES, MARK_KEY, MARK_FIELD, MARK_EVERY, TIMEOUT, RETRY_FOR, BATCH, LINGER,
            HOLD, MAX_PENDING);

    final String url;
    final Mode mode;
    final String keyPrefix;
    final long expireAfterMicros;
    final byte[] header;
    final int offset;
    final int slots;
    final int slotSize;
    final int totalSize;
    final long hopMicros;
    final boolean extendHash;
    final List<String> fields;
    final String fieldPrefix;
    final int maxBytes;
    final String markKey;
    final String markField;
    final long markEveryMicros;
    final int timeoutMillis;
    final long retryForMillis;
    final int batch;
    final long lingerNanos;
    final long holdNanos;
    final int maxPending;

    SinkConfig(ReadableConfig options) {
        url = options.get(URL);
        new RedisAddress(url); // refuses what is none
        mode = Mode.of(options.get(MODE));
        boolean ring = mode == Mode.RING;
        keyPrefix = options.get(KEY_PREFIX);
        expireAfterMicros = options.get(EXPIRE_AFTER);
        header = ring ? hex(need(options, HEADER)) : new byte[0];
        offset = ring ? need(options, OFFSET) : 0;
        slots = mode.hasTiles ? need(options, SLOTS) : 0;
        slotSize = ring ? need(options, SLOT_SIZE) : 0;
        totalSize = ring ? need(options, TOTAL_SIZE) : 0;
        hopMicros = mode.hasTiles ? need(options, HOP) : 0;
        extendHash = options.get(EXTEND_HASH);
        fields = mode == Mode.FIELDS ? names(need(options, FIELDS)) : List.of();
        fieldPrefix = mode == Mode.TILES || mode == Mode.SESSIONS ? need(options, FIELD_PREFIX) : "";
        maxBytes = options.get(MAX_BYTES);
        markField = options.getOptional(MARK_FIELD).orElse("");
        markKey = markField.isEmpty() ? "" : need(options, MARK_KEY);
        markEveryMicros = markField.isEmpty() ? 0 : need(options, MARK_EVERY);
        timeoutMillis = (int) options.get(TIMEOUT).toMillis();
        retryForMillis = options.get(RETRY_FOR).toMillis();
        batch = options.get(BATCH);
        lingerNanos = options.get(LINGER).toNanos();
        holdNanos = options.get(HOLD).toNanos();
        maxPending = options.get(MAX_PENDING);
        check(batch > 0 && maxPending >= batch, "batch must be positive and at most max-pending");
        check(expireAfterMicros >= 0, "expire-after must not be negative");
        check(!mode.hasTiles || (slots > 0 && hopMicros > 0), "slots and hop must be positive");
        check(markField.isEmpty() || markEveryMicros > 0, "mark-every must be positive");
        if (ring) {
            check(offset >= header.length, "offset must leave room for the header");
            check(offset + (long) slots * slotSize <= totalSize, "the tier does not fit into total-size");
        }
    }

    static void check(boolean right, String message) {
        if (!right) {
            throw new ValidationException("featuredsl-redis: " + message);
        }
    }

    private static <T> T need(ReadableConfig options, ConfigOption<T> option) {
        return options.getOptional(option).orElseThrow(() -> new ValidationException(
                "featuredsl-redis: mode '" + options.get(MODE) + "' needs the option '" + option.key() + "'"));
    }

    private static byte[] hex(String text) {
        check(text.matches("[0-9a-f]{16}"), "header is '" + text + "'; 16 lower-case hexadecimal digits are needed");
        byte[] out = new byte[8];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    private static List<String> names(String joined) {
        List<String> out =
                Arrays.stream(joined.split(";")).map(String::trim).collect(Collectors.toUnmodifiableList());
        check(out.stream().noneMatch(String::isEmpty) && Set.copyOf(out).size() == out.size(),
                "fields is '" + joined + "'; distinct names joined by ';' are needed");
        return out;
    }
}
