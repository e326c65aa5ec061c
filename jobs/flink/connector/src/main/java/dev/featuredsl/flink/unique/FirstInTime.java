package dev.featuredsl.flink.unique;

import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
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
        states.put("waiting", call -> event(call).map(row -> MapView.newMapViewDataType(DataTypes.STRING(), row)));
        return Signatures.of(
                EnumSet.of(StaticArgumentTrait.REQUIRE_ON_TIME),
                List.of("withinUs"),
                states,
                FirstInTime::event);
    }

    private static Optional<DataType> event(CallContext call) {
        return Signatures.columns(call, EVENT, 1);
    }

    public void eval(Context context, KeptTime kept, MapView<String, Row> waiting, Row input, Long withinUs)
            throws Exception {
        kept.withinUs = withinUs;
        Row event = new Row(input.getArity() - EVENT - 1);
        for (int i = 0; i < event.getArity(); i++) {
            event.setField(i, input.getField(EVENT + i));
        }
        waiting.put(input.getFieldAs(RANK), event);
        TimeContext<Long> time = context.timeContext(Long.class);
        time.registerOnTime(time.time());
    }

    public void onTimer(OnTimerContext context, KeptTime kept, MapView<String, Row> waiting) throws Exception {
        TimeContext<Long> time = context.timeContext(Long.class);
        long now = time.time();
        for (Map.Entry<String, Row> entry : due(waiting, now).entrySet()) {
            waiting.remove(entry.getKey());
            if (kept.take(ts(entry.getValue()))) {
                collect(entry.getValue());
                time.registerOnTime(kept.forgottenMs());
            }
        }
        if (kept.at != null && kept.forgottenMs() <= now) {
            kept.at = null;
        }
        if (kept.at == null && waiting.isEmpty()) {
            context.clearAllState();
        }
    }

    private static TreeMap<String, Row> due(MapView<String, Row> waiting, long nowMs) throws Exception {
        TreeMap<String, Row> due = new TreeMap<>();
        for (Map.Entry<String, Row> entry : waiting.entries()) {
            if (Math.floorDiv(ts(entry.getValue()), 1000L) <= nowMs) {
                due.put(entry.getKey(), entry.getValue());
            }
        }
        return due;
    }

    private static long ts(Row event) {
        return event.<Long>getFieldAs(0);
    }
}
