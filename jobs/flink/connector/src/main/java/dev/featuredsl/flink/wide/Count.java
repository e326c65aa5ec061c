package dev.featuredsl.flink.wide;

/** A count inside a map. */
final class Count {
    long value;
}
