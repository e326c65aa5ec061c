package dev.featuredsl.flink.join;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.ArgumentTrait;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Adds to each decision the features of its candidates as of the decision's time.
 *
 * <p>Partitioned by a shard number: every shard holds the whole catalog, a decision visits one. Input columns: those
 * of a decision of {@link DecisionJoin} with {@code event_id}, and catalog rows with {@code kind} = catalog, {@code
 * action_id} and {@code payload} = features (null = deleted). A decision waits until the watermark, which the
 * catalog's own holds back, has reached its time; so the answer does not depend on which topic is read first.
 */
@DataTypeHint(
        "ROW<event_id STRING, ts BIGINT, payload STRING, source_partition INT, source_offset BIGINT, clicks STRING,"
                + " auction STRING, activation BIGINT, catalog STRING>")
public final class CatalogLookup extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;

    public void eval(
            Context context,
            @StateHint(name = "items", ttl = "0 ms") MapView<String, Versions> items,
            @StateHint(name = "pending", ttl = "0 ms") MapView<String, PendingDecision> pending,
            @ArgumentHint(name = "input", value = {ArgumentTrait.SET_SEMANTIC_TABLE, ArgumentTrait.REQUIRE_ON_TIME}) Row input,
            @ArgumentHint(name = "keepUs") Long keepUs)
            throws Exception {
        TimeContext<Long> time = context.timeContext(Long.class);
        if ("catalog".equals(input.<String>getFieldAs("kind"))) {
            version(items, input, time.currentWatermark(), keepUs);
            return;
        }
        PendingDecision decision = read(input);
        if (Times.passed(time.currentWatermark(), decision.ts)) {
            emit(decision, items);
        } else {
            pending.put(decision.eventId, decision);
            time.registerOnTime(decision.eventId, Times.timer(decision.ts));
        }
    }

    public void onTimer(
            OnTimerContext context, MapView<String, Versions> items, MapView<String, PendingDecision> pending)
            throws Exception {
        PendingDecision decision = pending.get(context.currentTimer());
        if (decision != null) {
            emit(decision, items);
            pending.remove(context.currentTimer());
        }
    }

    private static void version(MapView<String, Versions> items, Row input, Long watermarkMs, long keepUs)
            throws Exception {
        String id = input.getFieldAs("action_id");
        Versions versions = items.get(id);
        if (versions == null) {
            versions = new Versions();
        }
        versions.add(input.<Long>getFieldAs("ts"), input.getFieldAs("payload"));
        if (watermarkMs != null && watermarkMs > 0) {
            versions.prune(watermarkMs * 1000L - keepUs);
        }
        items.put(id, versions);
    }

    private void emit(PendingDecision decision, MapView<String, Versions> items) throws Exception {
        Map<String, String> found = new LinkedHashMap<>();
        for (String id : Json.candidates(decision.payload)) {
            Versions versions = items.get(id);
            String features = versions == null ? null : versions.asOf(decision.ts);
            if (features != null) {
                found.put(id, features);
            }
        }
        collect(
                Row.of(
                        decision.eventId, decision.ts, decision.payload, decision.partition, decision.offset,
                        decision.clicks, decision.auction, decision.activation, Json.object(found)));
    }

    private static PendingDecision read(Row input) {
        PendingDecision decision = new PendingDecision();
        decision.eventId = input.getFieldAs("event_id");
        decision.ts = input.getFieldAs("ts");
        decision.payload = input.getFieldAs("payload");
        decision.partition = input.getFieldAs("source_partition");
        decision.offset = input.getFieldAs("source_offset");
        decision.clicks = input.getFieldAs("clicks");
        decision.auction = input.getFieldAs("auction");
        decision.activation = input.getFieldAs("activation");
        return decision;
    }
}
