"""Data-independent logarithmic buckets of numbers: counts that merge, subtract and replay exactly.

A bucket holds values within 1 % of its representative (DDSketch's mapping, arXiv 1908.10693), needs no
knowledge of the data, and sorts as its values do. One formula, as Python and as Flink SQL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from monitors.sample import CategorySample, NumericSample, weighted_sample

ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
OFFSET = 40_000
INFINITY = 100_000
MISSING_LABEL = "m"
_LOG_GAMMA = math.log(GAMMA)
_LARGEST = 1.7976931348623157e308
TEXT_LENGTH = 128


def bucket(value: float | None) -> int | None:
    """The bucket of a number; None for None and NaN. Ascending in the value; 0 is only zero."""
    if value is None or math.isnan(value):
        return None
    if value == 0:
        return 0
    if math.isinf(value):
        return INFINITY if value > 0 else -INFINITY
    index = math.ceil(math.log(abs(value)) / _LOG_GAMMA) + OFFSET
    return index if value > 0 else -index


def representative(index: int) -> float:
    """A value of the bucket, within 1 % of all others in it."""
    if index == 0:
        return 0.0
    if abs(index) >= INFINITY:
        return math.inf if index > 0 else -math.inf
    exponent = (abs(index) - OFFSET) * _LOG_GAMMA + math.log(2 / (GAMMA + 1))
    size = math.exp(exponent) if exponent < math.log(_LARGEST) else _LARGEST
    return size if index > 0 else -size


def bucket_sql(column: str) -> str:
    """The bucket of a DOUBLE column as a Flink SQL expression of type BIGINT; null for null and NaN."""
    size = f"CEIL(LN(ABS({column})) / CAST({_LOG_GAMMA!r} AS DOUBLE))"
    return (
        f"CASE WHEN {column} IS NULL OR {column} <> {column} THEN CAST(NULL AS BIGINT) "
        f"WHEN {column} = 0 THEN CAST(0 AS BIGINT) "
        f"WHEN ABS({column}) > CAST({_LARGEST!r} AS DOUBLE) "
        f"THEN CAST(SIGN({column}) * {INFINITY} AS BIGINT) "
        f"ELSE CAST(SIGN({column}) * ({size} + {OFFSET}) AS BIGINT) END"
    )


def label(value: object) -> str:
    """The counted name of any value: `n` + bucket, `s` + text, `b` + truth, or `m` for missing."""
    if isinstance(value, bool):
        return "btrue" if value else "bfalse"
    if isinstance(value, int | float):
        index = bucket(float(value))
        return MISSING_LABEL if index is None else f"n{index}"
    return MISSING_LABEL if value is None else f"s{str(value)[:TEXT_LENGTH]}"


def label_sql(number: str, text: str, truth: str) -> str:
    """`label` as Flink SQL over a DOUBLE, a STRING and a BOOLEAN column of which at most one is not null."""
    return (
        f"CASE WHEN {text} IS NOT NULL THEN 's' || SUBSTRING({text}, 1, {TEXT_LENGTH}) "
        f"WHEN {truth} IS NOT NULL THEN CASE WHEN {truth} THEN 'btrue' ELSE 'bfalse' END "
        f"ELSE COALESCE('n' || CAST({bucket_sql(number)} AS STRING), '{MISSING_LABEL}') END"
    )


def is_numeric(counts: Mapping[str, int]) -> bool:
    """True when no label is text or truth, and at least one is a number."""
    kinds = {name[0] for name, count in counts.items() if count}
    return "n" in kinds and not kinds & {"s", "b"}


def numeric_counts(counts: Mapping[str, int]) -> NumericSample:
    """The sample of counted labels; text and truth values are not numbers, so they count as missing."""
    values: dict[float, int] = {}
    missing = 0
    infinite = {math.inf: 0, -math.inf: 0}
    for name, count in counts.items():
        if name[0] != "n":
            missing += count
            continue
        value = representative(int(name[1:]))
        if value in infinite:
            infinite[value] += count
        else:
            values[value] = values.get(value, 0) + count
    return weighted_sample(values, missing=missing, negative_inf=infinite[-math.inf], positive_inf=infinite[math.inf])


def category_counts(counts: Mapping[str, int]) -> CategorySample:
    """The sample of counted labels as categories; numbers are categories by bucket."""
    kept = {f"{name[0]}:{name[1:]}": count for name, count in counts.items() if name != MISSING_LABEL}
    return CategorySample(kept, counts.get(MISSING_LABEL, 0))


def merge_counts(*many: Mapping[str, int]) -> dict[str, int]:
    """The sum of counts; commutative and associative."""
    total: dict[str, int] = {}
    for counts in many:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    return total
