"""Inputs of the pinned states of tests/golden/wide/states.json, which Python and Java are both tested with.

`python -m tests.golden.wide_states` writes the file anew; a change of the bytes of a case needs a new format.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import KINDS

FILE = Path(__file__).parent / "wide" / "states.json"
LONGEST = 400
"""Longer states are pinned by their SHA-256."""
DAY = 86_400_000_000
EMOJI, PRIVATE, LAST_BMP = "\U0001f600", "\ue000", "\uffff"
TEXTS = ["", "a", "a\0", "é", "日本", PRIVATE, LAST_BMP, EMOJI, "\U0010ffff", "\ud7ff", "z" * 40]
NAN, MINUS_NAN = "nan", "-nan"
NUMBERS = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1.7976931348623157e308, -1e300, 0.1, 1.0001, 3.0]
INTEGERS = [0, -1, 2**63 - 1, -(2**63), 2**53 + 1, 7]


def cell(value: Any) -> Any:
    """As JSON: integers as decimal text, NaN by name."""
    if value is None:
        return None
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else type(value).__name__
    return {"float" if value in (NAN, MINUS_NAN) else kind: str(value) if kind == "int" else value}


def value_of(stored: Any) -> Any:
    """Inverse of `cell`."""
    if stored is None:
        return None
    ((kind, value),) = stored.items()
    if value in (NAN, MINUS_NAN):
        return math.copysign(math.nan, -1.0 if value == MINUS_NAN else 1.0)
    return {"int": int, "float": float, "str": str, "bool": bool}[kind](value)


def event(time_us: int, *values: Any) -> list[Any]:
    return [time_us, [cell(value) for value in values]]


def events(*values: Any) -> list[Any]:
    """One event a second for each value."""
    return [event(i * 1_000_000, value) for i, value in enumerate(values)]


def series(first: int, count: int, most: int = 1, text: str = "") -> dict[str, Any]:
    """The values first, first + 1, …, each 1 to `most` times; as text behind `text`."""
    return {"first": first, "count": count, "most": most, "text": text}


def expanded(part: list[Any]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The events of a part, its series written out."""
    for item in part:
        if isinstance(item, list):
            yield item[0], tuple(value_of(stored) for stored in item[1])
            continue
        for i in range(item["first"], item["first"] + item["count"]):
            for _ in range(1 + i % item["most"]):
                yield i, (f"{item['text']}{i}" if item["text"] else i,)


def ranked(*rows: tuple[int, Any, Any]) -> list[Any]:
    """Events of (time, sequence, value) as a ranked kind gets them."""
    return [event(time_us, value, sequence, value) for time_us, sequence, value in rows]


TIES = ranked(
    (5, 2, "b"),
    (5, None, "b"),
    (5, None, PRIVATE),
    (5, None, EMOJI),
    (5, 2, EMOJI),
    (5, 2, LAST_BMP),
    (-3, 0, "é"),
    (5, -(2**63), ""),
)
FLOAT_TIES = [event(7, value, value) for value in (NAN, MINUS_NAN, -0.0, 0.0, 1e300, -1e300, None)]
ROWS = [event(9, None, True, None), event(9, 1, False, 1), event(9, None, False, None), event(10, 2, None, 2)]

CASES: dict[str, tuple[str, dict[str, Any], list[list[Any]]]] = {
    "first: ties": ("first", {}, [TIES, TIES[::-1]]),
    "first: the only NaN": ("first", {}, [[event(7, MINUS_NAN, MINUS_NAN)]]),
    "first: floats": ("first", {}, [FLOAT_TIES[:-1]]),
    "first: null is lowest": ("first", {}, [FLOAT_TIES]),
    "first: whole rows": ("first", {}, [ROWS]),
    "first: negative zero": ("first", {}, [[event(0, -0.0, -0.0)]]),
    "last_k: ties": ("last_k", {"k": 3}, [TIES]),
    "last_k: fewer than k": ("last_k", {"k": 1000}, [TIES, FLOAT_TIES[:1]]),
    "last_k: repeated events": ("last_k", {"k": 5}, [TIES[:3], TIES[:3], TIES[:3]]),
    "last_k: NaN is greatest": ("last_k", {"k": 2}, [FLOAT_TIES]),
    "last_k: one": ("last_k", {"k": 1}, [ROWS, ROWS]),
    "last_k: a thousand": ("last_k", {"k": 1000}, [[series(-500, 2500, 3)]]),
    "top_k: texts": ("top_k", {"k": 3}, [events(*TEXTS, EMOJI, EMOJI, PRIVATE)]),
    "top_k: floats": ("top_k_counts", {"k": 100}, [events(*NUMBERS)]),
    "top_k: integers": ("top_k", {"k": 1}, [events(*INTEGERS, 7), events(7, -1)]),
    "top_k: exactly 2,048 values": ("top_k", {"k": 10}, [[series(0, 2048, 5, "v")]]),
    "top_k: 2,049 values": ("top_k", {"k": 10}, [[series(0, 2049, 5, "v")]]),
    "top_k: equal counts vanish": ("top_k", {"k": 10}, [[series(0, 2049)], [series(0, 3)]]),
    "top_k: nothing but what was missed": ("top_k", {"k": 10}, [[series(0, 2049)]]),
    "top_k: parts that overflow together": ("top_k", {"k": 10}, [[series(0, 1500, 4)], [series(1000, 1500, 7)]]),
    "top_k: many cuts": ("top_k", {"k": 100}, [[series(0, 9000, 9)], [series(4000, 9000, 3)], [series(-5, 90, 30)]]),
    "most_frequent: truth": ("most_frequent", {}, [events(True, False, True)]),
    "approx_distinct: none taken twice": ("approx_distinct", {}, [events("a", "a", "a"), events("a")]),
    "approx_distinct: seven": ("approx_distinct", {}, [[series(-3, 7)]]),
    "approx_distinct: eight": ("approx_distinct", {}, [[series(-3, 8)]]),
    "approx_distinct: texts": ("approx_distinct", {}, [events(*TEXTS), events(*["x" * n for n in range(40)])]),
    "approx_distinct: floats": ("approx_distinct", {}, [events(*NUMBERS)]),
    "approx_distinct: integers": ("approx_distinct", {}, [events(*INTEGERS)]),
    "approx_distinct: truths": ("approx_distinct", {}, [events(True), events(False, True)]),
    "approx_distinct: 384": ("approx_distinct", {}, [[series(0, 384)]]),
    "approx_distinct: 385": ("approx_distinct", {}, [[series(0, 385)]]),
    "approx_distinct: parts meet above 384": (
        "approx_distinct",
        {},
        [[series(0, 300, 1, "é")], [series(200, 300, 2, "é")]],
    ),
    "approx_distinct: dense and few": ("approx_distinct", {}, [[series(0, 5000)], [series(4990, 20)]]),
    "approx_distinct: dense and dense": ("approx_distinct", {}, [[series(0, 9000)], [series(5000, 9000)]]),
    "approx_quantile: numbers": ("approx_quantile", {"q": 0.5}, [events(*NUMBERS), events(*NUMBERS[::2])]),
    "approx_quantile: zeros": ("approx_quantile", {"q": 1}, [events(-0.0), events(0.0, -0.0)]),
    "approx_quantile: many": ("approx_quantile", {"q": 0.99}, [[series(-2000, 4000, 3)], [series(10**15, 50)]]),
    "decayed_sum: one": ("decayed_sum", {"half_life_us": DAY}, [[event(-5, -0.0)]]),
    "decayed_sum: whole half-lives": (
        "decayed_sum",
        {"half_life_us": 1_000_000},
        [events(1.0, 2.0, 3.0), events(0.5, 1e300, -1.0)],
    ),
    "decayed_sum: any times": (
        "decayed_sum",
        {"half_life_us": 3 * DAY + 7},
        [[event(DAY * i * i * 1013 // 997, 0.1 * i - 3) for i in range(40)], [event(1000 * DAY, 1e-9)]],
    ),
    "decayed_sum: underflow": ("decayed_sum", {"half_life_us": 1}, [[event(0, 1e300)], [event(10**12, 1.5)]]),
    "decayed_count: integers": ("decayed_count", {"half_life_us": 60_000_000}, [[event(0, 1), event(7, 1)]]),
    "min: texts": ("min", {}, [events(*TEXTS[1:])]),
    "max: texts": ("max", {}, [events(*TEXTS)]),
    "max: beyond U+FFFF": ("max", {}, [events(EMOJI), events(PRIVATE, LAST_BMP)]),
    "min: nulls": ("min", {}, [events(None, "b", None)]),
    "max: only nulls": ("max", {}, [events(None), events(None)]),
}
ORDERED = ("2,049", "equal counts", "missed", "overflow", "many cuts", "decayed_")
"""Cases whose bytes depend on order and split: beyond what is exact, and sums of floats."""


def monoid_of(kind: str, params: dict[str, Any]) -> Monoid[Any]:
    if kind in ("min", "max"):
        return Plain("min" if kind == "min" else "max")
    return KINDS[kind].make(**params)


def state_of(monoid: Monoid[Any], taken: list[tuple[int, tuple[Any, ...]]]) -> Any:
    return reduce(lambda state, one: monoid.add(state, *one), taken, monoid.empty())


def merged(kind: str, params: dict[str, Any], parts: list[list[tuple[int, tuple[Any, ...]]]]) -> bytes:
    """Each part through its bytes, then merged from left to right."""
    monoid = monoid_of(kind, params)
    states = [monoid.from_bytes(monoid.to_bytes(state_of(monoid, part))) for part in parts]
    return monoid.to_bytes(reduce(monoid.merge, states, monoid.empty()))


def _row(name: str) -> dict[str, Any]:
    kind, params, parts = CASES[name]
    data = merged(kind, params, [list(expanded(part)) for part in parts])
    pinned: dict[str, Any] = {"bytes": data.hex()}
    if len(data) > LONGEST:
        pinned = {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    text = json.dumps(params, sort_keys=True, separators=(",", ":"))
    any_order = not any(word in name for word in ORDERED)
    return {"name": name, "kind": kind, "params": text, "any_order": any_order, "parts": parts} | pinned


if __name__ == "__main__":
    rows = [json.dumps(_row(name), ensure_ascii=True) for name in CASES]
    FILE.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
