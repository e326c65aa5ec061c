package dev.featuredsl.flink.redis;

import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.table.data.RowData;

/** The sink that runs in a job; stateless, see {@link RedisWriter}. */
final class RedisSink implements Sink<RowData> {
    private static final long serialVersionUID = 1L;
    private final SinkConfig config;
    private final RowEncoder encoder;

    RedisSink(SinkConfig config, RowEncoder encoder) {
        this.config = config;
        this.encoder = encoder;
    }

    @Override
    public SinkWriter<RowData> createWriter(WriterInitContext context) {
        return new RedisWriter(config, encoder, context);
    }
}
