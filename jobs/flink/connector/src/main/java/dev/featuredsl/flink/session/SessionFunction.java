package dev.featuredsl.flink.session;

import org.apache.flink.metrics.Counter;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.ArgumentTrait;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * {@code fdsl_sessions}: the sessions of each key, whose events are less than {@code gapUs} apart, to the microsecond and in
 * any order.
 *
 * <p>Input columns: the key by which it is partitioned, the time in microseconds, then those of the {@link Parts}; all rows
 * must be in time. Output: a record of a session when the watermark has closed it, with {@code live} also whenever an event
 * has come. A record takes the place of all earlier ones less than a gap apart. State goes when a session is closed.
 */
@DataTypeHint("ROW<first_us BIGINT, last_us BIGINT, n BIGINT, content BYTES>")
public final class SessionFunction extends ProcessTableFunction<Row> {
    private static final long serialVersionUID = 1L;
    private static final String CLOSE = "close";
    private static final int TIME = 1;

    private transient String spec;
    private transient Parts parts;
    private transient Counter tooLarge;

    @Override
    public void open(FunctionContext context) {
        tooLarge = context.getMetricGroup().counter("statesTooLarge");
    }

    public void eval(
            Context context,
            @StateHint(name = "sessions", ttl = "0 ms") Sessions sessions,
            @ArgumentHint(name = "input", value = {ArgumentTrait.SET_SEMANTIC_TABLE, ArgumentTrait.REQUIRE_ON_TIME}) Row input,
            @ArgumentHint(name = "gapUs") Long gapUs,
            @ArgumentHint(name = "parts") String partsJson,
            @ArgumentHint(name = "maxBytes") Integer maxBytes,
            @ArgumentHint(name = "live") Boolean live) {
        if (!partsJson.equals(spec)) {
            parts = new Parts(partsJson);
            spec = partsJson;
        }
        sessions.gapUs = gapUs;
        sessions.maxBytes = maxBytes;
        int at = sessions.add(input.<Long>getFieldAs(TIME), parts, input, TIME + 1);
        if (live) {
            collect(sessions.record(at, tooLarge));
        }
        if (sessions.timerMs == null || sessions.closesMs() < sessions.timerMs) {
            ring(context.timeContext(Long.class), sessions);
        }
    }

    public void onTimer(OnTimerContext context, Sessions sessions) {
        TimeContext<Long> time = context.timeContext(Long.class);
        Long watermark = time.currentWatermark();
        long passed = watermark == null ? time.time() : Math.max(watermark, time.time());
        sessions.closed(passed, tooLarge).forEach(this::collect);
        if (sessions.isEmpty()) {
            context.clearAll();
        } else {
            ring(time, sessions);
        }
    }

    /** One timer for a key, at the close of the oldest session as it was known when the timer was set. */
    private static void ring(TimeContext<Long> time, Sessions sessions) {
        sessions.timerMs = sessions.closesMs();
        time.registerOnTime(CLOSE, sessions.timerMs);
    }
}
