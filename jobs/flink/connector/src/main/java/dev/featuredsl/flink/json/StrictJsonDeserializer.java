package dev.featuredsl.flink.json;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.metrics.Counter;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.RowType;

/** Bytes of a record to one row, good or rejected. Counts {@code recordsRejected} and {@code heartbeats}. */
final class StrictJsonDeserializer implements DeserializationSchema<RowData> {
    private static final long serialVersionUID = 1L;

    private final Columns columns;
    private final StrictJsonConfig config;
    private final TypeInformation<RowData> type;
    private transient RecordReader reader;
    private transient Counter rejected;
    private transient Counter heartbeats;

    StrictJsonDeserializer(RowType row, StrictJsonConfig config, TypeInformation<RowData> type) {
        this.columns = new Columns(row);
        this.config = config;
        this.type = type;
        config.required.forEach(name -> columns.require("required", name, false));
        config.timeColumns.forEach(name -> columns.require("time-columns", name, true));
    }

    @Override
    public void open(InitializationContext context) {
        reader = new RecordReader(columns, config);
        rejected = context.getMetricGroup().counter("recordsRejected");
        heartbeats = context.getMetricGroup().counter("heartbeats");
    }

    /** The row of a record; null only for a heartbeat of a table without the column {@code _heartbeat}. */
    @Override
    public RowData deserialize(byte[] message) {
        GenericRowData row = new GenericRowData(columns.count);
        try {
            if (reader.read(message, row)) {
                heartbeats.inc();
                return columns.heartbeat < 0 ? null : row;
            }
            return row;
        } catch (Rejection rejection) {
            rejected.inc();
            return rejectedRow(message, rejection);
        }
    }

    private RowData rejectedRow(byte[] message, Rejection rejection) {
        GenericRowData row = new GenericRowData(columns.count);
        set(row, columns.reject, rejection.reason);
        set(row, columns.detail, rejection.getMessage());
        if (message != null) {
            int kept = Math.min(message.length, config.payloadLimit);
            set(row, columns.payload, Base64.getEncoder().encodeToString(Arrays.copyOf(message, kept)));
            set(row, columns.sha256, sha256(message));
        }
        return row;
    }

    private static void set(GenericRowData row, int position, String text) {
        if (position >= 0) {
            row.setField(position, StringData.fromBytes(text.getBytes(StandardCharsets.UTF_8)));
        }
    }

    private static String sha256(byte[] message) {
        try {
            StringBuilder hex = new StringBuilder(64);
            for (byte b : MessageDigest.getInstance("SHA-256").digest(message)) {
                hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    @Override
    public boolean isEndOfStream(RowData nextElement) {
        return false;
    }

    @Override
    public TypeInformation<RowData> getProducedType() {
        return type;
    }
}
