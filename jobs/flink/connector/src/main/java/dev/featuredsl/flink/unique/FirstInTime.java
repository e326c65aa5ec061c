package dev.featuredsl.flink.unique;

import dev.featuredsl.flink.Signatures;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
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
 * {@code fdsl_first_in_time(input, withinUs)}: the events of a key in the order of their time; of records that are one
 * event the first by (time, sequence, row).
 *
 * <p>Input columns: {@code _key} (STRING, which it is partitioned by), {@code _rank} (STRING, which orders like time,
 * sequence and row), those of the event, of which {@code _ts} (BIGINT, microseconds) is the first, and last the time
 * attribute, {@code _ts} in milliseconds. Output: the columns of the event. A record waits until the watermark has reached its
 * time, so all that are not late are known; a key is forgotten when the watermark is {@code withinUs} past its event.
 */
public final class FirstInTime extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;
    private static final int RANK = 1;
    private static final int EVENT = 2;

    @Override
    public TypeInference getTypeInference(DataTypeFactory factory) {
        LinkedHashMap<String, TypeStrategy> states = new LinkedHashMap<>();
        states.put("kept", call -> Optional.of(factory.createDataType(KeptTime.class)));
        states.put("waiting", call -> Signatures.columns(call, RANK, 1)
                .map(row -> MapView.newMapViewDataType(DataTypes.BIGINT(), DataTypes.ARRAY(row))));
        return Signatures.of(
                EnumSet.of(StaticArgumentTrait.REQUIRE_ON_TIME),
                List.of("withinUs"),
                states,
                FirstInTime::event);
    }

    private static Optional<DataType> event(CallContext call) {
        return Signatures.columns(call, EVENT, 1);
    }

    public void eval(Context context, KeptTime kept, MapView<Long, Row[]> waiting, Row input, Long withinUs)
            throws Exception {
        kept.withinUs = withinUs;
        Row record = columns(input, RANK, input.getArity() - 1);
        if (kept.repeats(ts(record))) {
            return;
        }
        TimeContext<Long> time = context.timeContext(Long.class);
        long now = time.time();
        Row[] same = waiting.get(now);
        if (same == null) {
            waiting.put(now, new Row[] {record});
            time.registerOnTime(now);
        } else if (Arrays.stream(same).noneMatch(other -> rank(other).equals(rank(record)))) {
            Row[] more = Arrays.copyOf(same, same.length + 1);
            more[same.length] = record;
            waiting.put(now, more);
        }
    }

    public void onTimer(OnTimerContext context, KeptTime kept, MapView<Long, Row[]> waiting) throws Exception {
        TimeContext<Long> time = context.timeContext(Long.class);
        long now = time.time();
        Row[] due = waiting.get(now);
        if (due != null) {
            waiting.remove(now);
            Arrays.sort(due, Comparator.comparing(FirstInTime::rank));
            for (Row record : due) {
                if (kept.take(ts(record))) {
                    collect(columns(record, 1, record.getArity()));
                }
            }
        }
        if (kept.at != null && kept.forgottenMs() > now) {
            time.registerOnTime(kept.forgottenMs());
        } else if (waiting.isEmpty()) {
            context.clearAllState();
        } else {
            kept.at = null;
        }
    }

    private static Row columns(Row row, int from, int to) {
        Row made = new Row(to - from);
        for (int i = from; i < to; i++) {
            made.setField(i - from, row.getField(i));
        }
        return made;
    }

    private static String rank(Row record) {
        return record.getFieldAs(0);
    }

    private static long ts(Row record) {
        return record.<Long>getFieldAs(1);
    }
}
