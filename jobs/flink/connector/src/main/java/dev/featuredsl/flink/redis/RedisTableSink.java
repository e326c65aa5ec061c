package dev.featuredsl.flink.redis;

import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;

/** A table whose rows are upserts by primary key. */
final class RedisTableSink implements DynamicTableSink {
    private final SinkConfig config;
    private final RowEncoder encoder;

    RedisTableSink(SinkConfig config, RowEncoder encoder) {
        this.config = config;
        this.encoder = encoder;
    }

    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
        return ChangelogMode.upsert();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
        return SinkV2Provider.of(new RedisSink(config, encoder));
    }

    @Override
    public DynamicTableSink copy() {
        return new RedisTableSink(config, encoder);
    }

    @Override
    public String asSummaryString() {
        return "featuredsl-redis(" + encoder.script() + ")";
    }
}
