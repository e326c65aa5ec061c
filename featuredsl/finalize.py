"""From what is stored for an entity to feature values with a status: pure, the time is an argument."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import msgspec

from featuredsl.errors import InputError, unknown
from featuredsl.evaluate import evaluate
from featuredsl.histories import History, histories
from featuredsl.nodes import Value
from featuredsl.ondemand import compute_all, request_values
from featuredsl.online.request import EntityState
from featuredsl.online.ring import RingTiles
from featuredsl.places import Place, places_of
from featuredsl.plan import GroupPlan, LookupFeature, OnDemandFeature, StoredFeature, WindowFeature
from featuredsl.ring_program import RingProgram, programs
from featuredsl.session_read import SessionRead, session_reads
from featuredsl.snapshots import batch_at
from featuredsl.tiles import BATCH_TIERS, batch_features, latest_mark, rank_columns, refuse_unstreamable
from featuredsl.values import typed
from featuredsl.windows import TIERS

NOT_FOUND, DEGRADED, STALE, EXPIRED = "NOT_FOUND", "DEGRADED", "STALE", "EXPIRED"
DEFAULT, NULL, OK = "DEFAULT", "NULL", "OK"
Known = tuple[Sequence[int | None], Sequence[Sequence[Value]]]
"""What a program gives for some entities: the newest event inside of each, and the values of each feature."""
ORDER = (NOT_FOUND, DEGRADED, STALE, EXPIRED, DEFAULT, NULL, OK)


class FeatureValue(msgspec.Struct, frozen=True, gc=False):
    """A value, its status (contract of `get`), the time it is as of and its newest event's time, in us.

    Not a dataclass, because a read makes thousands of them.
    """

    value: Value
    status: str
    as_of_us: int | None
    event_time_us: int | None


class Finalizer:
    """Computes the features of one group, or those of `names`, from stored state. Prepared once per plan.

    Raises UnsupportedError for a streamed window that tiles cannot hold, InputError for an unknown name.
    """

    def __init__(self, plan: GroupPlan, names: Sequence[str] | None = None) -> None:
        refuse_unstreamable(plan, "online store")
        self.plan = plan
        self.names = plan.feature_names if names is None else tuple(dict.fromkeys(names))
        self.needed = needed_for(plan, self.names)
        self._programs = programs(plan, self.needed.features)
        self._histories = histories(plan, self.needed.features)
        windows = [feature for program in self._programs for feature in program.features]
        self._quick = tuple(feature.name for feature in windows)
        self._defaulted = [feature for feature in windows if feature.default is not None]
        quick = {*self._quick, *(feature.name for history in self._histories for feature in history.features)}
        self._others = [feature for feature in self.needed.features if feature.name not in quick]
        self.only_programs = set(self._quick) == set(self.names)
        """True when the features of the programs are all features, so that what `known` gives is the answer."""
        nothing = FeatureValue(None, NOT_FOUND, None, None)
        self._blank = dict.fromkeys((feature.name for feature in self.needed.features), nothing)
        self._places: dict[str, tuple[Place, ...]] = places_of(plan)
        self._sessions: dict[str, SessionRead] = session_reads(plan)
        self._rank_at: dict[str, int] = {}
        self._marks = {feature.name: _marks(feature, self._places, self._sessions) for feature in plan.features}
        self._batch_at = {tier: {f.name: i for i, f in enumerate(batch_features(plan, tier))} for tier in BATCH_TIERS}
        for feature in plan.features:
            if isinstance(feature, LookupFeature) and feature.freshness not in BATCH_TIERS:
                names = [column.name for column in rank_columns(plan, feature)]
                self._rank_at[feature.name] = len(names) - 1 - names[::-1].index(feature.column)

    def values(
        self,
        state: EntityState,
        at_us: int,
        marks: Mapping[str, tuple[int, ...]],
        request: Mapping[str, Value] | None = None,
        known: dict[str, FeatureValue] | None = None,
    ) -> dict[str, FeatureValue]:
        """The features as read at `at_us`; `marks` are the completed times of batch tiers and of deferred streams,
        `known` what `known` gave, where the programs have run already.

        Raises InputError for a request input of the wrong type.
        """
        needed = self.needed
        found = self._blank.copy() if known is None else known
        for program in self._programs if known is None else ():
            self._run(program, state, at_us, found)
        for history in self._histories:
            self._lifetimes(history, state, at_us, marks, found)
        for other in self._others:
            found[other.name] = self._stored(other, state, at_us, marks)
        if needed.on_demand:
            stored = {name: value.value for name, value in found.items()}
            computed = compute_all(needed, stored, request_values(needed, request or {}))
            for feature in needed.on_demand:
                found[feature.name] = _on_demand(feature, found, computed[feature.name], at_us)
        return found if len(found) == len(self.names) else {name: found[name] for name in self.names}

    @property
    def programs(self) -> Sequence[RingProgram]:
        """What many entities can be computed by together."""
        return self._programs

    def known(self, values: Sequence[FeatureValue]) -> dict[str, FeatureValue]:
        """The features of all programs by name, of what `window_values` gives; the others are still to come."""
        known = self._blank.copy()
        known.update(zip(self._quick, values, strict=True))
        for feature in self._defaulted:
            if (null := known[feature.name]).value is None:
                known[feature.name] = _with_status(feature, None, OK, null.as_of_us, null.event_time_us)
        return known

    @property
    def stream_marks(self) -> tuple[str, ...]:
        """The marks of all deferred streams of the plan: readers of single features of a tier share what they keep."""
        return tuple(dict.fromkeys(mark for marks in self._marks.values() for mark in marks))

    def windows(self, numbers: Mapping[str, tuple[Any, ...]], at_us: int) -> dict[str, FeatureValue]:
        """The features of an entity that is there, where `only_programs`, from all numbers of each tier."""
        found = self._blank.copy()
        for program in self._programs:
            values, newest = program.values(numbers[program.tier], at_us)
            self._put(program, values, newest, at_us, found)
        return found

    def _run(self, program: RingProgram, state: EntityState, at_us: int, found: dict[str, FeatureValue]) -> None:
        tiles = state.ring[program.tier]
        if type(tiles) is not RingTiles:
            status = OK if state.exists else NOT_FOUND
            found.update((feature.name, self._window(feature, state, at_us, status)) for feature in program.features)
            return
        values, newest = program.values(tiles.numbers, at_us)
        self._put(program, values, newest, at_us, found, state.exists)

    @staticmethod
    def _put(
        program: RingProgram,
        values: Sequence[Value],
        newest: int | None,
        at_us: int,
        found: dict[str, FeatureValue],
        exists: bool = True,
    ) -> None:
        as_of = at_us if newest is None or newest < at_us else newest + 1
        for feature, value in zip(program.features, values, strict=True):
            if value is not None and exists:
                found[feature.name] = FeatureValue(value, OK, as_of, newest)
            else:
                status = OK if exists else NOT_FOUND
                found[feature.name] = _with_status(feature, value, status, as_of, newest)

    def _lifetimes(
        self,
        history: History,
        state: EntityState,
        at_us: int,
        marks: Mapping[str, tuple[int, ...]],
        found: dict[str, FeatureValue],
    ) -> None:
        as_of, status = self._as_of(history.features[0], at_us, marks)
        status = status if state.exists else NOT_FOUND
        if as_of is None:
            found.update((f.name, _with_status(f, _empty(f), status, None, None)) for f in history.features)
            return
        whole = history.found(state, marks, as_of)
        if whole.is_short:
            status = min(status, DEGRADED, key=ORDER.index)
        newest = whole.newest_us
        as_of = as_of if newest is None or newest < as_of else newest + 1
        for feature, columns in zip(history.features, whole.columns, strict=True):
            value = evaluate(feature.aggregate.finalize, columns)
            found[feature.name] = _with_status(feature, value, status, as_of, newest)

    def _stored(
        self, feature: StoredFeature, state: EntityState, at_us: int, marks: Mapping[str, tuple[int, ...]]
    ) -> FeatureValue:
        if feature.freshness in BATCH_TIERS:
            return self._batch(feature, state, at_us, marks.get(feature.freshness, ()))
        as_of, status = self._as_of(feature, at_us, marks)
        if not state.exists:
            status = NOT_FOUND
        if as_of is None:
            return _with_status(feature, _empty(feature), status, None, None)
        if feature.name in self._sessions:
            return _session(self._sessions[feature.name], state, as_of, status)
        if isinstance(feature, WindowFeature):
            return self._window(feature, state, as_of, status)
        return self._lookup(feature, state, as_of, status)

    def _as_of(
        self, feature: StoredFeature, at_us: int, marks: Mapping[str, tuple[int, ...]]
    ) -> tuple[int | None, str]:
        """What a streamed feature is computed for: what its tier asks for, or less where it is not closed so far."""
        needed = self._marks[feature.name]
        if not needed:
            return at_us, OK
        asked = feature.tier.query_time(at_us)
        closed = [time_us for mark in needed for time_us in marks.get(mark, ())]
        if len(closed) < len(needed):
            return None, STALE
        as_of = min(asked, *closed)
        return as_of, STALE if as_of < asked else OK

    def _window(self, feature: WindowFeature, state: EntityState, at_us: int, status: str) -> FeatureValue:
        low, high = feature.window.bounds(at_us)
        found = [(place, place.found(state, low, high, at_us)) for place in self._places[feature.name]]
        value = evaluate(feature.aggregate.finalize, {place.column: part.value for place, part in found})
        newest = max((part.newest_us for _, part in found if part.newest_us is not None), default=None)
        if any(part.is_short for _, part in found):
            status = min(status, DEGRADED, key=ORDER.index)
        as_of = at_us if newest is None or newest < at_us else newest + 1
        return _with_status(feature, value, status, as_of, newest)

    def _lookup(self, feature: LookupFeature, state: EntityState, at_us: int, status: str) -> FeatureValue:
        rank = state.lookups.get(feature.name)
        if rank is None:
            return _with_status(feature, None, status, at_us, None)
        as_of = max(at_us, rank.event_time_us + 1)
        if feature.ttl_us is not None and rank.event_time_us < at_us - feature.ttl_us:
            return _with_status(feature, None, min(status, EXPIRED, key=ORDER.index), as_of, rank.event_time_us)
        return _with_status(feature, rank.values[self._rank_at[feature.name]], status, as_of, rank.event_time_us)

    def _batch(self, feature: StoredFeature, state: EntityState, at_us: int, marks: tuple[int, ...]) -> FeatureValue:
        asked = TIERS[feature.freshness].query_time(at_us)
        as_of, match, complete = batch_at(state.batch.get(feature.freshness, ()), marks, asked)
        value = _empty(feature) if match is None else match.values[self._batch_at[feature.freshness][feature.name]]
        status = OK if complete and as_of == asked else STALE
        return _with_status(feature, value, NOT_FOUND if not state.exists else status, as_of, None)


def window_values(found: Iterable[Known], at_us: int) -> Iterator[tuple[FeatureValue, ...]]:
    """The values of all programs in turn, without defaults, of each entity; all of them exist."""
    columns: list[Iterator[FeatureValue]] = []
    for newest, values in found:
        as_of = [at_us if one is None or one < at_us else one + 1 for one in newest]
        for column in values:
            statuses = [NULL if value is None else OK for value in column] if None in column else repeat(OK)
            columns.append(map(FeatureValue, column, statuses, as_of, newest))
    return zip(*columns, strict=True)


def _session(read: SessionRead, state: EntityState, at_us: int, status: str) -> FeatureValue:
    """The value over the last session that has closed by `at_us`; events from then on cannot change it."""
    found = read.found(state, at_us)
    value = evaluate(read.feature.aggregate.finalize, found.columns)
    if found.is_short:
        status = min(status, DEGRADED, key=ORDER.index)
    return _with_status(read.feature, value, status, at_us, found.last_us)


def _marks(
    feature: StoredFeature, places: Mapping[str, tuple[Place, ...]], sessions: Mapping[str, SessionRead]
) -> tuple[str, ...]:
    """The marks that say how far the values of a deferred stream are complete; none for other features."""
    if feature.freshness in BATCH_TIERS or not feature.tier.is_deferred:
        return ()
    if isinstance(feature, LookupFeature):
        return (latest_mark(feature.source, feature.freshness),)
    if feature.name in sessions:
        return (sessions[feature.name].tier.mark,)
    return tuple(dict.fromkeys(place.mark for place in places[feature.name]))


def needed_for(plan: GroupPlan, names: Sequence[str]) -> GroupPlan:
    """The plan with only the features that the named ones are computed from. Raises InputError for an unknown name."""
    for name in names:
        if name not in plan.feature_names:
            raise InputError(unknown("feature", name, plan.name, plan.feature_names))
    wanted = set(names)
    for feature in reversed(plan.on_demand):  # in the order of evaluation
        if feature.name in wanted:
            wanted.update(feature.inputs)
    stored = tuple(feature for feature in plan.features if feature.name in wanted)
    return replace(plan, features=stored, on_demand=tuple(f for f in plan.on_demand if f.name in wanted))


def _empty(feature: StoredFeature) -> Value:
    if isinstance(feature, LookupFeature):
        return None
    return evaluate(feature.aggregate.finalize, feature.aggregate.nothing)


def _with_status(
    feature: StoredFeature, value: Value, status: str, as_of: int | None, event_time: int | None
) -> FeatureValue:
    if value is None and feature.default is not None:
        value = typed(feature.default, feature.dtype)
        status = DEFAULT if status == OK else status
    if value is None and status == OK:
        status = NULL
    return FeatureValue(value, status, as_of, event_time)


def _on_demand(feature: OnDemandFeature, found: Mapping[str, FeatureValue], value: Value, at_us: int) -> FeatureValue:
    used = [found[name] for name in feature.inputs]
    worst = min((v.status for v in used if v.status in ORDER[:4]), key=ORDER.index, default=OK)
    if worst == OK and value is None:
        worst = NULL
    times = [v.event_time_us for v in used if v.event_time_us is not None]
    as_of = max((v.as_of_us for v in used if v.as_of_us is not None), default=at_us)
    return FeatureValue(value, worst, as_of, max(times, default=None))
