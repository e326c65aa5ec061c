package dev.featuredsl.flink.wide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.featuredsl.flink.Golden;
import dev.featuredsl.flink.wide.Vectors.Case;
import dev.featuredsl.flink.wide.Vectors.Event;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.data.StringData;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class WideFunctionTest {
    private final WideFunction function = new WideFunction();

    private void take(WideAccumulator accumulator, Case of, List<Event> events) {
        StringData kind = StringData.fromString(of.kind);
        StringData params = StringData.fromString(of.params);
        for (Event event : events) {
            function.accumulate(accumulator, kind, params, true, event.timeUs, event.values);
        }
    }

    private WideAccumulator of(Case of, List<Event> events) {
        WideAccumulator accumulator = function.createAccumulator();
        take(accumulator, of, events);
        return accumulator;
    }

    private static WideAccumulator restored(WideAccumulator accumulator) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(16);
        WideSerializer.INSTANCE.serialize(accumulator, out);
        DataOutputSerializer copied = new DataOutputSerializer(16);
        WideSerializer.INSTANCE.copy(new DataInputDeserializer(out.getCopyOfBuffer()), copied);
        assertArrayEquals(out.getCopyOfBuffer(), copied.getCopyOfBuffer());
        return WideSerializer.INSTANCE.deserialize(new DataInputDeserializer(copied.getCopyOfBuffer()));
    }

    private byte[] merged(Case of, List<List<Event>> parts) throws IOException {
        List<WideAccumulator> locals = new ArrayList<>();
        for (List<Event> part : parts) {
            locals.add(restored(of(of, part)));
        }
        WideAccumulator global = function.createAccumulator();
        function.merge(global, locals);
        return function.getValue(global);
    }

    @TestFactory
    Stream<DynamicTest> statesAreThoseOfPython() throws IOException {
        return Vectors.all().stream().map(one -> dynamicTest(one.name, () -> {
            assertEquals(one.expected(), one.found(merged(one, one.parts)));
            if (one.bytes() != null) {
                byte[] again = Spec.of(one.kind, one.params).empty().fromBytes(one.bytes()).toBytes();
                assertArrayEquals(one.bytes(), again);
            }
        }));
    }

    @TestFactory
    Stream<DynamicTest> orderAndSplitDoNotMatter() throws IOException {
        return Vectors.all().stream().filter(one -> one.anyOrder).map(one -> dynamicTest(one.name, () -> {
            List<Event> all = new ArrayList<>();
            one.parts.forEach(all::addAll);
            Collections.reverse(all);
            assertEquals(one.expected(), one.found(merged(one, List.of(all))));
            List<List<Event>> dealt = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
            for (int i = 0; i < all.size(); i++) {
                dealt.get(i % 3).add(all.get(i));
            }
            assertEquals(one.expected(), one.found(merged(one, dealt)));
        }));
    }

    @TestFactory
    Stream<DynamicTest> copiesAndMergedStatesShareNothing() throws IOException {
        return Vectors.all().stream().map(one -> dynamicTest(one.name, () -> {
            List<Event> first = one.parts.get(0);
            List<Event> more = new ArrayList<>(one.parts.get(one.parts.size() - 1));
            Collections.reverse(more);
            WideAccumulator original = of(one, first);
            byte[] before = function.getValue(original);
            WideAccumulator copy = WideSerializer.INSTANCE.copy(original);
            WideAccumulator global = function.createAccumulator();
            function.merge(global, List.of(original));
            assertArrayEquals(before, function.getValue(copy));
            assertArrayEquals(before, function.getValue(global));
            take(copy, one, more);
            take(global, one, more);
            function.merge(global, List.of(copy));
            assertArrayEquals(before, function.getValue(original));
        }));
    }

    private static final StringData COUNT = StringData.fromString("decayed_count");
    private static final StringData HALF_LIFE = StringData.fromString("{\"half_life_us\":1000}");

    @Test
    void onlyTrueTakesARow() throws IOException {
        WideAccumulator accumulator = function.createAccumulator();
        function.accumulate(accumulator, COUNT, HALF_LIFE, false, 1L, 1);
        function.accumulate(accumulator, COUNT, HALF_LIFE, null, 1L, 1);
        function.accumulate(accumulator, COUNT, HALF_LIFE, true, null, 1);
        assertNull(function.getValue(accumulator));
        assertNull(function.getValue(restored(accumulator)));
        WideAccumulator global = function.createAccumulator();
        function.merge(global, List.of(accumulator, restored(accumulator)));
        assertNull(function.getValue(global));
        function.accumulate(accumulator, COUNT, HALF_LIFE, true, 1L, 1);
        function.merge(global, List.of(accumulator));
        assertEquals("01" + "0000000000000001" + "3ff0000000000000", Golden.hex(function.getValue(global)));
    }

    private static String refused(Runnable call) {
        return assertThrows(IllegalArgumentException.class, call::run).getMessage();
    }

    @Test
    void errorsSayWhatExists() {
        assertEquals(
                "fdsl_wide: there is no kind 'lastk'; there are approx_distinct, approx_quantile, decayed_count, decayed_sum, "
                        + "first, last_k, max, min, most_frequent, top_k, top_k_counts",
                refused(() -> Spec.of("lastk", "{}")));
        assertEquals(
                "fdsl_wide: the parameters {\"k\":0} of last_k want an integer 'k' from 1 to 1000",
                refused(() -> Spec.of("last_k", "{\"k\":0}")));
        assertEquals(
                "fdsl_wide: the parameters {\"q\":2} of approx_quantile want a number 'q' from 0 to 1",
                refused(() -> Spec.of("approx_quantile", "{\"q\":2}")));
        assertEquals(
                "fdsl_wide: the parameters {\"k\":1} of first hold what the kind does not take: k",
                refused(() -> Spec.of("first", "{\"k\":1}")));
        assertEquals("fdsl_wide: the parameters [ of first are no JSON object", refused(() -> Spec.of("first", "[")));
        assertTrue(refused(() -> Spec.of("top_k", "{}")).contains("want an integer 'k' from 1 to 100"));
        assertTrue(refused(() -> Spec.of("decayed_sum", "{\"half_life_us\":0.5}")).contains("half_life_us"));
    }

    @Test
    void aCallHasOneKind() {
        WideAccumulator accumulator = function.createAccumulator();
        function.accumulate(accumulator, COUNT, HALF_LIFE, true, 1L, 1);
        StringData sum = StringData.fromString("decayed_sum");
        assertTrue(refused(() -> function.accumulate(accumulator, sum, HALF_LIFE, true, 1L, 1)).contains("literals"));
        WideAccumulator other = function.createAccumulator();
        assertTrue(refused(() -> function.accumulate(other, null, HALF_LIFE, true, 1L, 1)).contains("not null"));
    }

    @Test
    void wrongValuesAreNamed() {
        StringData none = StringData.fromString("{}");
        StringData distinct = StringData.fromString("approx_distinct");
        WideAccumulator accumulator = function.createAccumulator();
        assertTrue(refused(() -> function.accumulate(accumulator, distinct, none, true, 1L, new Object[] {null})).contains("null"));
        assertTrue(refused(() -> function.accumulate(accumulator, distinct, none, true, 1L, new byte[0])).contains("byte[]"));
        StringData min = StringData.fromString("min");
        WideAccumulator texts = function.createAccumulator();
        assertTrue(refused(() -> function.accumulate(texts, min, none, true, 1L, 5L)).contains("STRING, not Long"));
    }

    @Test
    void brokenStatesAreRefused() {
        Spec spec = Spec.of("last_k", "{\"k\":2}");
        String format = assertThrows(IllegalStateException.class, () -> spec.empty().fromBytes(new byte[] {2})).getMessage();
        assertTrue(format.contains("format 2; this release reads 1"), format);
        byte[] cut = {1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 's', 0, 0, 0, 9, 'a'};
        String broken = assertThrows(IllegalStateException.class, () -> spec.empty().fromBytes(cut)).getMessage();
        assertTrue(broken.contains("does not decode at byte 16 of 17"), broken);
        Spec distinct = Spec.of("approx_distinct", "{}");
        assertThrows(IllegalStateException.class, () -> distinct.empty().fromBytes(new byte[] {1, 2, 1, 7, 11, 3, 8, 0, 8}));
    }
}
