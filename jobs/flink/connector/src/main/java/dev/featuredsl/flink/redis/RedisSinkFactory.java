package dev.featuredsl.flink.redis;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.LogicalType;

/** Connector {@code featuredsl-redis}: tiles ({@code mode=ring}) and latest values ({@code mode=fields}) to Redis 7. */
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
        int[] key = config.ring ? new int[] {0, 1} : new int[] {0};
        SinkConfig.check(Arrays.equals(context.getPrimaryKeyIndexes(), key),
                "PRIMARY KEY must be " + (config.ring ? "(k, tile), the first two columns" : "(k), the first column"));
        List<LogicalType> types = context.getPhysicalRowDataType().getLogicalType().getChildren();
        return new RedisTableSink(config, config.ring ? new RingEncoder(config, types) : new FieldsEncoder(config, types));
    }
}
