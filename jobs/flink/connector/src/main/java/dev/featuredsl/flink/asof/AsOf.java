package dev.featuredsl.flink.asof;

import dev.featuredsl.flink.Signatures;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.inference.CallContext;
import org.apache.flink.table.types.inference.StaticArgumentTrait;
import org.apache.flink.table.types.inference.TypeInference;
import org.apache.flink.table.types.inference.TypeStrategy;
import org.apache.flink.types.Row;

/**
 * {@code fdsl_as_of(input, eventColumns)}: events with the columns of the row of a slowly changing table that was valid
 * at their time.
 *
 * <p>Input: events and rows of the table as one relation. Its columns are {@code _key} (STRING, which it is partitioned
 * by); those of the event, {@code eventColumns} of them, of which {@code _ts} (BIGINT, microseconds) is the first: the time
 * of the event, or from when the row is valid; {@code _rank} (STRING, which orders like the row; null for an event);
 * those of the row, null for an event; and last the time attribute: of an event {@code _ts} in milliseconds, of a row anything
 * above every watermark, for it is late for nobody. Output: the columns of the event, then those of the row.
 *
 * <p>An event waits until the watermark has reached its time, so all rows up to it are known. Of rows that are valid from one time
 * the one with the greatest rank counts. The newest row of a key is kept for ever, older ones until the watermark has
 * passed the next.
 */
public final class AsOf extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;
    private static final int EVENT = 1;

    @Override
    public TypeInference getTypeInference(DataTypeFactory factory) {
        LinkedHashMap<String, TypeStrategy> states = new LinkedHashMap<>();
        states.put("counts", call -> Optional.of(MapView.newMapViewDataType(DataTypes.BIGINT(), DataTypes.INT())));
        states.put("waiting", call -> joined(call)
                .map(event -> MapView.newMapViewDataType(DataTypes.STRING(), event)));
        states.put("versions", call -> columns(call).map(all -> all.subList(rank(all), all.size()))
                .map(row -> MapView.newMapViewDataType(DataTypes.BIGINT(), DataTypes.ROW(row))));
        return Signatures.of(
                EnumSet.of(StaticArgumentTrait.REQUIRE_ON_TIME), List.of("eventColumns"), states, AsOf::joined);
    }

    /** Of the event, then of the row without its rank. */
    private static Optional<DataType> joined(CallContext call) {
        return columns(call).map(all -> {
            List<DataTypes.Field> kept = new ArrayList<>(all);
            kept.remove(rank(all));
            return DataTypes.ROW(kept);
        });
    }

    private static Optional<List<DataTypes.Field>> columns(CallContext call) {
        return Signatures.columns(call, EVENT, 1).map(DataType::getFields);
    }

    /** Where the columns of the table's row begin, with its rank; values of arguments are not known to signatures. */
    private static int rank(List<DataTypes.Field> fields) {
        return fields.stream().map(DataTypes.Field::getName).collect(Collectors.toList()).indexOf("_rank");
    }

    /** The events of a millisecond wait under its name and a number: {@code counts} says how many there are. */
    public void eval(
            Context context,
            MapView<Long, Integer> counts,
            MapView<String, Row> waiting,
            MapView<Long, Row> versions,
            Row input,
            Long eventColumns)
            throws Exception {
        TimeContext<Long> time = context.timeContext(Long.class);
        int rank = EVENT + eventColumns.intValue();
        Row version = columns(input, rank, input.getArity() - 1);
        if (version.getField(0) == null) {
            long at = time.time();
            Integer before = counts.get(at);
            if (before == null) {
                time.registerOnTime(at);
            }
            int number = before == null ? 0 : before;
            counts.put(at, number + 1);
            Row event = Row.join(columns(input, EVENT, rank), columns(input, rank + 1, input.getArity() - 1));
            waiting.put(place(at, number), event);
            return;
        }
        long from = input.<Long>getFieldAs(EVENT);
        Row same = versions.get(from);
        if (same == null || same.<String>getFieldAs(0).compareTo(version.getFieldAs(0)) < 0) {
            versions.put(from, version);
        }
        forget(versions, times(versions), time.currentWatermark());
    }

    public void onTimer(
            OnTimerContext context,
            MapView<Long, Integer> counts,
            MapView<String, Row> waiting,
            MapView<Long, Row> versions)
            throws Exception {
        long now = context.timeContext(Long.class).time();
        TreeSet<Long> times = times(versions);
        int due = counts.get(now);
        counts.remove(now);
        for (int i = 0; i < due; i++) {
            Row event = waiting.get(place(now, i));
            waiting.remove(place(now, i));
            Long valid = times.floor(event.<Long>getFieldAs(0));
            if (valid != null) {
                add(event, versions.get(valid));
            }
            collect(event);
        }
        forget(versions, times, now);
    }

    private static String place(long ms, int number) {
        return ms + "/" + number;
    }

    private static void add(Row event, Row version) {
        int added = version.getArity() - 1;
        for (int i = 0; i < added; i++) {
            event.setField(event.getArity() - added + i, version.getField(i + 1));
        }
    }

    private static TreeSet<Long> times(MapView<Long, Row> versions) throws Exception {
        TreeSet<Long> found = new TreeSet<>();
        versions.keys().forEach(found::add);
        return found;
    }

    /** Removes what no event after this millisecond can see; at the ends of time, and without one, nothing. */
    private static void forget(MapView<Long, Row> versions, TreeSet<Long> times, Long ms) throws Exception {
        boolean isTime = ms != null && Math.abs(ms / 2) <= Long.MAX_VALUE / 4000;
        Long needed = isTime ? times.floor(ms * 1000 + 999) : null;
        if (needed != null) {
            for (Long from : times.headSet(needed)) {
                versions.remove(from);
            }
        }
    }

    private static Row columns(Row row, int from, int to) {
        Row made = new Row(to - from);
        for (int i = from; i < to; i++) {
            made.setField(i - from, row.getField(i));
        }
        return made;
    }
}
