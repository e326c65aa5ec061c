"""One definition of a feature, the same value on every engine."""
