package dev.featuredsl.flink.wide;

/** The state of one group, null while no row was taken, and what it is a state of. */
public final class WideAccumulator {
    Spec spec;
    WideState state;

    void start(Spec of) {
        spec = of;
        state = of.empty();
    }
}
