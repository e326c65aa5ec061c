package dev.featuredsl.flink;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * {@code fdsl_age(event time, record time)}: microseconds from an event's time to that of its Kafka record; negative where the
 * event is ahead of its record, null where one is null. What leaves 64 bits is the farthest number that does not.
 */
public final class AgeFunction extends ScalarFunction {
    private static final long serialVersionUID = 1L;

    /** The age of an event, whose time is in microseconds. */
    public Long eval(Long event, @DataTypeHint(value = "TIMESTAMP_LTZ(3)", bridgedTo = TimestampData.class) TimestampData record) {
        if (event == null || record == null) {
            return null;
        }
        long recorded = record.getMillisecond() * 1_000;
        long age = recorded - event;
        boolean wraps = ((recorded ^ event) & (recorded ^ age)) < 0;
        return wraps ? (event < 0 ? Long.MAX_VALUE : Long.MIN_VALUE) : age;
    }
}
