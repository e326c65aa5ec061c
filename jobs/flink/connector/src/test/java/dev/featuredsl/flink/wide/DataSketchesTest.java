package dev.featuredsl.flink.wide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.datasketches.hll.Union;
import org.apache.datasketches.memory.Memory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Apache DataSketches reads our sketches, and we read its. */
class DataSketchesTest {
    private static byte[] image(WideState state) {
        byte[] bytes = state.toBytes();
        return Arrays.copyOfRange(bytes, 1, bytes.length);
    }

    private static byte[] stored(byte[] image) {
        byte[] bytes = new byte[image.length + 1];
        bytes[0] = WideState.FORMAT;
        System.arraycopy(image, 0, bytes, 1, image.length);
        return bytes;
    }

    private static Object cell(int i) {
        switch (i % 3) {
            case 0:
                return (long) i - 500;
            case 1:
                return i / 7.0;
            default:
                return new Text("é" + i);
        }
    }

    private static void update(HllSketch sketch, Object cell) {
        if (cell instanceof Long) {
            sketch.update((Long) cell);
        } else if (cell instanceof Double) {
            sketch.update((Double) cell);
        } else {
            sketch.update(cell.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 100, 384, 385, 3000, 50_000})
    void sketchesAreReadBothWays(int distinct) {
        WideState ours = new Distinct();
        HllSketch theirs = new HllSketch(Distinct.LG_K, TgtHllType.HLL_8);
        for (int i = 0; i < 2 * distinct; i++) {
            Object cell = cell(i % distinct);
            ours.add(0, new Object[] {cell});
            update(theirs, cell);
        }
        HllSketch read = HllSketch.heapify(Memory.wrap(image(ours)));
        assertEquals(Distinct.LG_K, read.getLgConfigK());
        assertEquals(TgtHllType.HLL_8, read.getTgtHllType());
        assertEquals(distinct, read.getEstimate(), 0.05 * distinct + 0.01);
        Union union = new Union(Distinct.LG_K);
        union.update(read);
        double alone = union.getEstimate();
        union.update(theirs);
        assertEquals(alone, union.getEstimate(), 1e-9 * alone, "theirs holds nothing that ours does not");

        WideState fromTheirs = new Distinct().fromBytes(stored(theirs.toCompactByteArray()));
        assertArrayEquals(ours.toBytes(), fromTheirs.toBytes());
    }
}
