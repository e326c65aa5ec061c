package dev.featuredsl.flink.wide;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/**
 * Accumulators in checkpoints and between the local and the global aggregate: whether there is a state, its kind and
 * parameters, the length of its bytes, its bytes. The planner does not know the literals where it makes the type, so
 * they stand in the data.
 */
public final class WideSerializer extends TypeSerializerSingleton<WideAccumulator> {
    public static final WideSerializer INSTANCE = new WideSerializer();
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isImmutableType() {
        return false;
    }

    @Override
    public WideAccumulator createInstance() {
        return new WideAccumulator();
    }

    @Override
    public WideAccumulator copy(WideAccumulator from) {
        WideAccumulator copy = new WideAccumulator();
        if (from.state != null) {
            copy.start(from.spec);
            copy.state.merge(from.state);
        }
        return copy;
    }

    @Override
    public WideAccumulator copy(WideAccumulator from, WideAccumulator reuse) {
        return copy(from);
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public void serialize(WideAccumulator accumulator, DataOutputView target) throws IOException {
        target.writeBoolean(accumulator.state != null);
        if (accumulator.state != null) {
            byte[] bytes = accumulator.state.toBytes();
            target.writeUTF(accumulator.spec.kind);
            target.writeUTF(accumulator.spec.params);
            target.writeInt(bytes.length);
            target.write(bytes);
        }
    }

    @Override
    public WideAccumulator deserialize(DataInputView source) throws IOException {
        WideAccumulator accumulator = new WideAccumulator();
        if (source.readBoolean()) {
            accumulator.start(Spec.of(source.readUTF(), source.readUTF()));
            byte[] bytes = new byte[source.readInt()];
            source.readFully(bytes);
            accumulator.state.fromBytes(bytes);
        }
        return accumulator;
    }

    @Override
    public WideAccumulator deserialize(WideAccumulator reuse, DataInputView source) throws IOException {
        return deserialize(source);
    }

    @Override
    public void copy(DataInputView source, DataOutputView target) throws IOException {
        serialize(deserialize(source), target);
    }

    @Override
    public TypeSerializerSnapshot<WideAccumulator> snapshotConfiguration() {
        return new Snapshot();
    }

    /** There is nothing to remember: the format of each state is in its bytes. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<WideAccumulator> {
        public Snapshot() {
            super(() -> INSTANCE);
        }
    }
}
