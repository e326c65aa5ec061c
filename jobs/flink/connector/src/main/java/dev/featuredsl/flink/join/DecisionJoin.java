package dev.featuredsl.flink.join;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.ArgumentTrait;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Joins the impression of a decision with its clicks, auction record and activation, by event id.
 *
 * <p>Input columns: {@code kind} (impression, click, auction, activation), {@code ts} (microseconds), {@code payload},
 * {@code slot_id}, {@code click_value}, {@code source_partition}, {@code source_offset}; partitioned by the event id.
 * Rows are late for nobody: the time attribute must lie far above the watermark (see jobs/flink/join_sql.py), and
 * this function decides with {@code ts} and the watermark alone.
 *
 * <p>Output: one {@code decision} per event id when its window has closed, and one row for each record that is not
 * part of a decision, with the reason as its {@code kind}: duplicate, too_late, duplicate_click, early_click,
 * late_click, straggler_click, orphan_click. State goes {@code window + late} after the decision.
 */
@DataTypeHint(
        "ROW<kind STRING, ts BIGINT, payload STRING, source_partition INT, source_offset BIGINT, clicks STRING,"
                + " auction STRING, activation BIGINT, slot_id STRING, click_value DOUBLE, click_ts BIGINT>")
public final class DecisionJoin extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;
    private static final String CLOSE = "close";
    private static final String EXPIRE = "expire";
    private static final String CLICK = "click";

    public void eval(
            Context context,
            @StateHint(name = "state", ttl = "0 ms") DecisionState state,
            @StateHint(name = "attached", ttl = "0 ms") MapView<String, Attached> attached,
            @ArgumentHint(name = "input", value = {ArgumentTrait.SET_SEMANTIC_TABLE, ArgumentTrait.REQUIRE_ON_TIME}) Row input,
            @ArgumentHint(name = "windowUs") Long windowUs,
            @ArgumentHint(name = "lateUs") Long lateUs)
            throws Exception {
        state.windowUs = windowUs;
        state.lateUs = lateUs;
        TimeContext<Long> time = context.timeContext(Long.class);
        long ts = input.<Long>getFieldAs("ts");
        if (!state.hasImpression() && Times.passed(time.currentWatermark(), ts + state.retentionUs()) && attached.isEmpty()) {
            refuse(input, ts);
            context.clearAllState();
        } else if ("impression".equals(input.<String>getFieldAs("kind"))) {
            impression(time, state, attached, input, ts);
        } else {
            attach(time, state, attached, input, ts);
        }
    }

    public void onTimer(OnTimerContext context, DecisionState state, MapView<String, Attached> attached)
            throws Exception {
        if (state.hasImpression() && !state.isClosed()) {
            close(state, attached);
        }
        if (EXPIRE.equals(context.currentTimer())) {
            if (!state.hasImpression()) {
                for (Attached record : attached.values()) {
                    if (CLICK.equals(record.kind)) {
                        click("orphan_click", null, record);
                    }
                }
            }
            context.clearAll();
        }
    }

    /** A record so old that nobody knows any more whether its decision has been emitted. */
    private void refuse(Row input, long ts) {
        String kind = input.getFieldAs("kind");
        if ("impression".equals(kind)) {
            collect(copy("too_late", input, ts));
        } else if (CLICK.equals(kind)) {
            click("orphan_click", null, read(input, ts));
        }
    }

    private void impression(
            TimeContext<Long> time, DecisionState state, MapView<String, Attached> attached, Row input, long ts)
            throws Exception {
        if (state.hasImpression()) {
            collect(copy("duplicate", input, ts));
            if (state.isClosed() || ts >= state.ts) {
                return;
            }
        }
        state.ts = ts;
        state.payload = input.getFieldAs("payload");
        state.partition = input.getFieldAs("source_partition");
        state.offset = input.getFieldAs("source_offset");
        keep(time, state, ts);
        if (Times.passed(time.currentWatermark(), ts + state.windowUs)) {
            close(state, attached);
            time.clearTimer(CLOSE);
        } else {
            time.registerOnTime(CLOSE, Times.timer(ts + state.windowUs));
        }
    }

    private void attach(
            TimeContext<Long> time, DecisionState state, MapView<String, Attached> attached, Row input, long ts)
            throws Exception {
        Attached record = read(input, ts);
        String identity = record.identity();
        if (attached.contains(identity)) {
            if (CLICK.equals(record.kind)) {
                click("duplicate_click", state.ts, record);
            }
            return;
        }
        if (!state.hasImpression()) {
            keep(time, state, ts);
        }
        attached.put(identity, record);
        if (state.isClosed() && CLICK.equals(record.kind)) {
            afterClose(state, record);
        }
    }

    private void close(DecisionState state, MapView<String, Attached> attached) throws Exception {
        List<Attached> records = new ArrayList<>();
        attached.values().forEach(records::add);
        records.sort(Comparator.comparing((Attached record) -> record.ts));
        List<Attached> clicks = new ArrayList<>();
        String auction = null;
        Long activation = null;
        for (Attached record : records) {
            long delay = record.ts - state.ts;
            boolean inWindow = delay >= 0 && delay <= state.windowUs;
            if (CLICK.equals(record.kind)) {
                if (inWindow) {
                    clicks.add(record);
                } else {
                    afterClose(state, record);
                }
            } else if ("auction".equals(record.kind)) {
                auction = auction == null && Math.abs(delay) <= state.windowUs ? record.payload : auction;
            } else {
                activation = activation == null && inWindow ? record.ts : activation;
            }
        }
        collect(
                Row.of(
                        "decision", state.ts, state.payload, state.partition, state.offset,
                        Json.clicks(clicks), auction, activation, null, null, null));
        state.closed = true;
        state.payload = null;
    }

    /** A click that is not part of its decision's example. */
    private void afterClose(DecisionState state, Attached record) {
        long delay = record.ts - state.ts;
        String kind = "late_click";
        if (delay < 0) {
            kind = "early_click";
        } else if (delay <= state.windowUs) {
            kind = "straggler_click";
        } else if (delay > state.retentionUs()) {
            kind = "orphan_click";
        }
        click(kind, state.ts, record);
    }

    private static void keep(TimeContext<Long> time, DecisionState state, long ts) {
        long expire = Times.timer(ts + state.retentionUs());
        if (state.expireMs == null || expire > state.expireMs) {
            state.expireMs = expire;
            time.registerOnTime(EXPIRE, expire);
        }
    }

    private void click(String kind, Long impressionTs, Attached record) {
        collect(
                Row.of(
                        kind, impressionTs, null, null, null, null, null, null, record.slotId, record.value,
                        record.ts));
    }

    private static Row copy(String kind, Row input, long ts) {
        return Row.of(
                kind, ts, input.getField("payload"), input.getField("source_partition"),
                input.getField("source_offset"), null, null, null, null, null, null);
    }

    private static Attached read(Row input, long ts) {
        return Attached.of(
                input.getFieldAs("kind"), ts, input.getFieldAs("slot_id"), input.getFieldAs("click_value"),
                input.getFieldAs("payload"));
    }
}
