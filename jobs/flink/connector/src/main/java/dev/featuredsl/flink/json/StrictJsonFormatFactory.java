package dev.featuredsl.flink.json;

import java.util.Set;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/**
 * Format {@code featuredsl-json}: strict JSON objects to rows, never failing.
 *
 * <p>A record that is not accepted becomes a row whose special column {@code _reject} holds the reason; the query routes it
 * to a dead-letter topic.
 */
public final class StrictJsonFormatFactory implements DeserializationFormatFactory {
    /** Name of the format in a WITH clause. */
    public static final String IDENTIFIER = "featuredsl-json";

    @Override
    public String factoryIdentifier() {
        return IDENTIFIER;
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(
                StrictJsonConfig.EVENT_TIME,
                StrictJsonConfig.TIME_UNIT,
                StrictJsonConfig.TIME_RANGE,
                StrictJsonConfig.TIME_COLUMNS,
                StrictJsonConfig.REQUIRED,
                StrictJsonConfig.MAX_BYTES,
                StrictJsonConfig.PAYLOAD_LIMIT);
    }

    @Override
    public DecodingFormat<DeserializationSchema<RowData>> createDecodingFormat(
            DynamicTableFactory.Context context, ReadableConfig options) {
        FactoryUtil.validateFactoryOptions(this, options);
        return new Format(new StrictJsonConfig(options));
    }

    private static final class Format implements DecodingFormat<DeserializationSchema<RowData>> {
        private final StrictJsonConfig config;

        Format(StrictJsonConfig config) {
            this.config = config;
        }

        @Override
        public DeserializationSchema<RowData> createRuntimeDecoder(
                DynamicTableSource.Context context, DataType physicalDataType) {
            RowType row = (RowType) physicalDataType.getLogicalType();
            TypeInformation<RowData> type = context.createTypeInformation(physicalDataType);
            return new StrictJsonDeserializer(row, config, type);
        }

        @Override
        public ChangelogMode getChangelogMode() {
            return ChangelogMode.insertOnly();
        }
    }
}
