"""Parity: do logged online reads equal what the batch engine computes for the same times? Pure comparison.

Outcome of one feature of one read, the first that applies:

- `match`: equal (integers, strings and booleans exactly; floats to 1e-9 relative)
- `ahead`: the read saw events at or after its time (a read in the past, or clock skew)
- `lagging`: the value was computed for an earlier time than the tier promises, or is marked STALE
- `missing`: no value online, one offline
- `extra`: one online, none offline
- `mismatch`: two values that differ

`ahead` and `lagging` are shown apart; the other three are wrong.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import InputError
from featuredsl.nodes import Value
from featuredsl.online.keys import KeyPart
from featuredsl.plan import GroupPlan
from featuredsl.times import format_time, parse_time

Outcome = Literal["match", "mismatch", "missing", "extra", "lagging", "ahead"]
OUTCOMES: tuple[Outcome, ...] = ("match", "mismatch", "missing", "extra", "lagging", "ahead")
WRONG: frozenset[Outcome] = frozenset({"mismatch", "missing", "extra"})
FLOAT_TOLERANCE = 1e-9
DEFAULT_THRESHOLD = 0.001


@dataclass(frozen=True, slots=True)
class ReadValue:
    """One feature as an online read returned it."""

    value: Value
    status: str
    as_of_us: int | None
    event_time_us: int | None


@dataclass(frozen=True, slots=True)
class LoggedRead:
    """One online read of one entity: when, what was asked, what came back."""

    at_us: int
    group: str
    key: tuple[KeyPart, ...]
    request: Mapping[str, Value]
    features: Mapping[str, ReadValue]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The earliest wrong value of a feature."""

    at_us: int
    key: tuple[KeyPart, ...]
    outcome: Outcome
    online: Value
    offline: Value
    status: str


@dataclass(frozen=True, slots=True)
class FeatureParity:
    """Counts of one feature over all reads; `non_trivial` = offline values that are neither 0, empty nor null."""

    group: str
    feature: str
    counts: Mapping[Outcome, int]
    non_trivial: int
    first_divergence: Divergence | None

    @property
    def wrong(self) -> int:
        """Values that differ without an excuse."""
        return sum(count for outcome, count in self.counts.items() if outcome in WRONG)

    @property
    def compared(self) -> int:
        """Values that had to be equal: all but the lagging and the ahead ones."""
        return self.wrong + self.counts["match"]

    @property
    def wrong_rate(self) -> float:
        """wrong / compared, 0 when nothing was compared."""
        return self.wrong / self.compared if self.compared else 0.0


@dataclass(frozen=True, slots=True)
class ParityReport:
    """The outcome of a comparison."""

    reads: int
    features: tuple[FeatureParity, ...]
    threshold: float = DEFAULT_THRESHOLD

    @property
    def broken(self) -> tuple[FeatureParity, ...]:
        """The features whose share of wrong values is above the threshold."""
        return tuple(feature for feature in self.features if feature.wrong_rate > self.threshold)

    @property
    def totals(self) -> dict[str, int]:
        """Sums over all features."""
        sums: dict[str, int] = {o: sum(f.counts[o] for f in self.features) for o in OUTCOMES}
        values = sum(sums.values())
        return {"reads": self.reads, "values": values, "non_trivial": self._non_trivial} | sums

    @property
    def _non_trivial(self) -> int:
        return sum(feature.non_trivial for feature in self.features)

    def as_json(self) -> dict[str, Any]:
        """The report as strict JSON values."""
        return {
            "status": "broken" if self.broken else "ok",
            "threshold": self.threshold,
            **self.totals,
            "features": [_feature_json(feature) for feature in self.features],
        }


@dataclass(slots=True)
class _Tally:
    counts: Counter[Outcome] = field(default_factory=Counter)
    non_trivial: int = 0
    first: Divergence | None = None


def parse_reads(lines: Iterable[str]) -> list[LoggedRead]:
    """Reads from JSON lines: `{"at": µs or ISO, "group", "key": […], "request"?, "features": {…}}`."""
    reads = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            reads.append(_parse_read(line, number))
    if not reads:
        raise InputError("no reads to compare: the file is empty")
    return reads


def compare(
    plans: Mapping[str, GroupPlan],
    reads: Sequence[LoggedRead],
    offline: Sequence[Mapping[str, Value]],
    threshold: float = DEFAULT_THRESHOLD,
) -> ParityReport:
    """Compare each read with the offline values of the same place in `offline` (feature name -> value)."""
    tallies: dict[tuple[str, str], _Tally] = {}
    for read, expected in zip(reads, offline, strict=True):
        plan = plans[read.group]
        late = behind(plan, read)
        for name, dtype in feature_dtypes(plan).items():
            tally = tallies.setdefault((read.group, name), _Tally())
            _count(tally, read, name, classify(read, name, dtype, expected[name], name in late), expected[name])
    features = tuple(
        FeatureParity(group, name, {o: t.counts[o] for o in OUTCOMES}, t.non_trivial, t.first)
        for (group, name), t in sorted(tallies.items())
    )
    return ParityReport(len(reads), features, threshold)


def classify(read: LoggedRead, name: str, dtype: DType, offline: Value, is_behind: bool) -> Outcome:
    """The outcome of one feature of one read."""
    found = read.features.get(name)
    online = None if found is None else found.value
    if found is not None and equal(online, offline, dtype):
        return "match"
    if found is not None and _is_ahead(found, read.at_us):
        return "ahead"
    if is_behind:
        return "lagging"
    if online is None:
        return "missing"
    return "extra" if offline is None else "mismatch"


def equal(left: Value, right: Value, dtype: DType) -> bool:
    """Equality between engines: exact, floats to 1e-9 relative; null equals only null; arrays by element."""
    if left is None or right is None:
        return left is right
    if dtype in ELEMENTS:
        return isinstance(left, list) and isinstance(right, list) and _same(left, right, ELEMENTS[dtype])
    if dtype == "float":
        return _is_number(left) and _is_number(right) and math.isclose(left, right, rel_tol=FLOAT_TOLERANCE)
    return type(left) is type(right) and left == right


def _same(left: list[Any], right: list[Any], element: DType) -> bool:
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(equal(a, b, element) for a, b in pairs)


def behind(plan: GroupPlan, read: LoggedRead) -> set[str]:
    """The features of a read that were computed for an earlier time than their tier promises."""
    late = {feature.name for feature in plan.features if _is_behind(read, feature.name, feature.tier.query_time)}
    for on_demand in plan.on_demand:
        if late & set(on_demand.inputs) or _is_behind(read, on_demand.name, None):
            late.add(on_demand.name)
    return late


def feature_dtypes(plan: GroupPlan) -> dict[str, DType]:
    """Every feature of a group with its type, stored ones first."""
    stored: dict[str, DType] = {feature.name: feature.dtype for feature in plan.features}
    return stored | {feature.name: feature.dtype for feature in plan.on_demand}


def check_reads(plans: Mapping[str, GroupPlan], reads: Iterable[LoggedRead]) -> None:
    """Raises InputError when a read names a group, a feature or a key that the definitions do not have."""
    for read in reads:
        if read.group not in plans:
            raise InputError(f"a read names the group {read.group!r}; groups are {', '.join(sorted(plans))}")
        plan = plans[read.group]
        unknown = sorted(set(read.features) - set(plan.feature_names))
        if unknown:
            names = ", ".join(plan.feature_names)
            raise InputError(f"a read of {read.group!r} has the feature {unknown[0]!r}; features are {names}")
        if len(read.key) != len(plan.entity):
            columns = ", ".join(name for name, _ in plan.entity)
            raise InputError(f"a read of {read.group!r} has the key {list(read.key)}; the entity is ({columns})")


def _count(tally: _Tally, read: LoggedRead, name: str, outcome: Outcome, offline: Value) -> None:
    tally.counts[outcome] += 1
    tally.non_trivial += offline not in (None, 0, [])
    if outcome in WRONG and (tally.first is None or read.at_us < tally.first.at_us):
        found = read.features.get(name)
        online, status = (None, "absent") if found is None else (found.value, found.status)
        tally.first = Divergence(read.at_us, read.key, outcome, online, offline, status)


def _is_behind(read: LoggedRead, name: str, query_time: Any) -> bool:
    found = read.features.get(name)
    if found is None:
        return False
    if found.status == "STALE":
        return True
    q = read.at_us if query_time is None else query_time(read.at_us)
    deferred = q < read.at_us
    return deferred and found.as_of_us is not None and found.as_of_us < q


def _is_ahead(found: ReadValue, at_us: int) -> bool:
    times = (found.as_of_us, found.event_time_us)
    return (times[0] is not None and times[0] > at_us) or (times[1] is not None and times[1] >= at_us)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parse_read(line: str, number: int) -> LoggedRead:
    try:
        raw = json.loads(line)
        features = {name: _parse_value(value) for name, value in raw["features"].items()}
        at_us = parse_time(raw["at"], "us", "at")
        return LoggedRead(at_us, raw["group"], tuple(raw["key"]), raw.get("request") or {}, features)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f'line {number} is not a logged read ({reason}); a read is {{"at", "group", "key", "features"}}'
        ) from error


def _parse_value(raw: Mapping[str, Any]) -> ReadValue:
    return ReadValue(raw["value"], raw["status"], _time(raw.get("as_of")), _time(raw.get("event_time")))


def _time(value: str | int | None) -> int | None:
    return None if value is None else parse_time(value, "us")


def _feature_json(feature: FeatureParity) -> dict[str, Any]:
    first = feature.first_divergence
    counts: dict[str, int] = {outcome: feature.counts[outcome] for outcome in OUTCOMES}
    return {
        "group": feature.group,
        "feature": feature.feature,
        **counts,
        "compared": feature.compared,
        "wrong_rate": feature.wrong_rate,
        "non_trivial": feature.non_trivial,
        "first_divergence": None
        if first is None
        else {
            "at": format_time(first.at_us),
            "key": list(first.key),
            "outcome": first.outcome,
            "online": first.online,
            "offline": first.offline,
            "status": first.status,
        },
    }
