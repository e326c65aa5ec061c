"""Aggregates whose state is not a fixed number: one monoid each, declared in `table`, run by `sweep`."""
