package dev.featuredsl.flink.redis;

import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * Connector {@code featuredsl-redis} to Redis 7: tiles of numbers ({@code mode=ring}), tiles of variable width
 * ({@code mode=tiles}) and latest values ({@code mode=fields}).
 */
public final class RedisSinkFactory implements DynamicTableSinkFactory {
    /** Name of the connector in a WITH clause. */
    public static final String IDENTIFIER = "featuredsl-redis";

    @Override
    public String factoryIdentifier() {
        return IDENTIFIER;
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return SinkConfig.REQUIRED;
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return SinkConfig.OPTIONAL;
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        SinkConfig config = new SinkConfig(helper.getOptions());
        config.mode.checkPrimaryKey(context.getPrimaryKeyIndexes());
        List<LogicalType> types = context.getPhysicalRowDataType().getLogicalType().getChildren();
        return new RedisTableSink(config, config.mode.encoder(config, types));
    }
}
