package dev.featuredsl.flink.wide;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/** A kind with its parameters: what makes empty states. One object for each that is in use. */
final class Spec {
    /** Adding a kind is its class and a row here, beside those of featuredsl/wide/table.py. */
    private static final Map<String, Function<Params, Supplier<WideState>>> KINDS = new TreeMap<>(Map.ofEntries(
            Map.entry("first", params -> First::new),
            Map.entry("last_k", Spec::lastK),
            Map.entry("top_k", Spec::topK),
            Map.entry("top_k_counts", Spec::topK),
            Map.entry("most_frequent", params -> TopK::new),
            Map.entry("approx_distinct", params -> Distinct::new),
            Map.entry("approx_quantile", Spec::quantile),
            Map.entry("decayed_sum", Spec::decayed),
            Map.entry("decayed_count", Spec::decayed),
            Map.entry("min", params -> Extreme::least),
            Map.entry("max", params -> Extreme::greatest)));

    private static final Map<String, Map<String, Spec>> KNOWN = new ConcurrentHashMap<>();

    final String kind;
    final String params;
    private final Supplier<WideState> maker;

    private Spec(String kind, String params) {
        this.kind = kind;
        this.params = params;
        Function<Params, Supplier<WideState>> row = KINDS.get(kind);
        if (row == null) {
            throw new IllegalArgumentException(
                    "fdsl_wide: there is no kind '" + kind + "'; there are " + String.join(", ", KINDS.keySet()));
        }
        Params given = new Params(kind, params);
        this.maker = row.apply(given);
        given.finish();
    }

    /** Refuses an unknown kind and parameters that it does not take. */
    static Spec of(String kind, String params) {
        return KNOWN.computeIfAbsent(kind, any -> new ConcurrentHashMap<>()).computeIfAbsent(params, any -> new Spec(kind, params));
    }

    WideState empty() {
        return maker.get();
    }

    private static Supplier<WideState> lastK(Params params) {
        int k = (int) params.whole("k", 1, LastK.MOST_EVENTS);
        return () -> new LastK(k);
    }

    /** How many values are given is no part of the state. */
    private static Supplier<WideState> topK(Params params) {
        params.whole("k", 1, TopK.MOST_VALUES);
        return TopK::new;
    }

    private static Supplier<WideState> quantile(Params params) {
        params.share("q");
        return Quantile::new;
    }

    private static Supplier<WideState> decayed(Params params) {
        long halfLifeUs = params.whole("half_life_us", 1, Long.MAX_VALUE);
        return () -> new Decayed(halfLifeUs);
    }
}
