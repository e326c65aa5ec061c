package dev.featuredsl.flink.unique;

import dev.featuredsl.flink.Signatures;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.table.types.inference.StaticArgumentTrait;
import org.apache.flink.table.types.inference.TypeInference;
import org.apache.flink.table.types.inference.TypeStrategy;
import org.apache.flink.types.Row;

/**
 * {@code fdsl_first_arrival(input, withinUs, keepUs)}: says of each record whether it is an event or repeats one; the
 * first of a key that arrives is the event.
 *
 * <p>Columns of the input: that by which it is partitioned (a shard of the keys), {@code _key} (STRING), {@code _at}
 * and {@code _tie} (BIGINT: the time that {@code withinUs} is measured on, what orders equal times), {@code _ktime}
 * (TIMESTAMP_LTZ(3), the time of the Kafka record), and others. All pass; {@code _outcome} is null for an event,
 * else duplicate, or duplicate_earlier for a duplicate with a lower (time, tie) than its event.
 *
 * <p>A shard holds many keys and forgets by the time of its own records, {@code keepUs} after an event. There is no
 * timer and no time-to-live: a job that stood still for days has forgotten nothing.
 */
public final class FirstArrival extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;
    /** How far ahead of its Kafka record a time may move the clock: a wrong one must not make a shard forget. */
    private static final long AHEAD_US = 60_000_000L;

    private static final long FAR_MS = Long.MAX_VALUE / 4000L;

    @Override
    public TypeInference getTypeInference(DataTypeFactory factory) {
        LinkedHashMap<String, TypeStrategy> states = new LinkedHashMap<>();
        states.put("clock", call -> Optional.of(factory.createDataType(Clock.class)));
        states.put("firsts", call -> Optional.of(MapView.newMapViewDataType(DataTypes.STRING(), DataTypes.BYTES())));
        return Signatures.of(
                EnumSet.of(StaticArgumentTrait.PASS_COLUMNS_THROUGH),
                List.of("withinUs", "keepUs"),
                states,
                call -> Optional.of(DataTypes.ROW(DataTypes.FIELD("_outcome", DataTypes.STRING()))));
    }

    public void eval(Clock clock, MapView<String, byte[]> firsts, Row input, Long withinUs, Long keepUs)
            throws Exception {
        String key = input.getFieldAs("_key");
        long at = input.<Long>getFieldAs("_at");
        Long order = input.getFieldAs("_tie");
        long tie = order == null ? Long.MIN_VALUE : order;
        long latest = Math.min(input.<Instant>getFieldAs("_ktime").toEpochMilli(), FAR_MS) * 1000L + AHEAD_US;
        if (clock.moves(Math.min(at, latest), keepUs)) {
            forget(firsts, clock.newest - keepUs);
        }
        Firsts found = Firsts.read(firsts.get(key));
        String outcome = found.take(at, tie, withinUs);
        if (outcome == null) {
            firsts.put(key, found.write());
        }
        collect(Row.of(outcome));
    }

    private static void forget(MapView<String, byte[]> firsts, long before) throws Exception {
        List<Map.Entry<String, Firsts>> changed = new ArrayList<>();
        for (Map.Entry<String, byte[]> entry : firsts.entries()) {
            Firsts kept = Firsts.read(entry.getValue());
            if (kept.forget(before)) {
                changed.add(Map.entry(entry.getKey(), kept));
            }
        }
        for (Map.Entry<String, Firsts> entry : changed) {
            if (entry.getValue().isEmpty()) {
                firsts.remove(entry.getKey());
            } else {
                firsts.put(entry.getKey(), entry.getValue().write());
            }
        }
    }
}
