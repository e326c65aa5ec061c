"""Why a value that was read is what it is, in words: where it came from, its status, what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from featuredsl.finalize import DEFAULT, DEGRADED, EXPIRED, NOT_FOUND, NULL, STALE, FeatureValue
from featuredsl.histories import Whole, histories
from featuredsl.horizon import HISTORY, SPAN_US, needs_history
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout, Suffix
from featuredsl.online.request import EntityState
from featuredsl.online.session_codec import StoredSessions
from featuredsl.plan import GroupPlan, LookupFeature, OnDemandFeature, StoredFeature, WindowFeature
from featuredsl.session_read import SessionRead, session_reads
from featuredsl.tiles import BATCH_TIERS, tile_tiers
from featuredsl.times import DAY, HOUR, MINUTE, SECOND, format_duration, format_time

_OPEN = "send heartbeats to quiet partitions, and look at the lag of the feature job"


@dataclass(frozen=True, slots=True)
class Reason:
    """`source`: tiles, field or inputs; `why`: what made the status; `todo`: what helps, "" where nothing is wrong."""

    source: str
    why: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """One entity as it was read at a time; `marks` are the completed times of tiers."""

    plan: GroupPlan
    layout: StoreLayout
    parts: Sequence[KeyPart]
    state: EntityState
    at_us: int
    marks: Mapping[str, tuple[int, ...]]
    row: Mapping[str, FeatureValue]


def reason(read: Read, name: str) -> Reason:
    """Why the feature of that name has its value and status."""
    on_demand = {feature.name: feature for feature in read.plan.on_demand}
    if name in on_demand:
        return _computed(read, on_demand[name])
    feature = next(feature for feature in read.plan.features if feature.name == name)
    found = _batch(read, feature) if feature.freshness in BATCH_TIERS else _streamed(read, feature)
    return _missing(read, feature, found) if read.row[name].status == NOT_FOUND else found


def _missing(read: Read, feature: StoredFeature, found: Reason) -> Reason:
    kinds: list[tuple[Suffix, bool]] = [("R", bool(read.layout.ring)), ("X", bool(read.layout.hash_fields))]
    keys = [read.layout.key(read.parts, suffix) for suffix, used in kinds if used]
    job = f"featuredsl run batch (tier {feature.freshness})" if feature.freshness in BATCH_TIERS else "the feature job"
    keep = read.layout.expire_after_us
    gone = f", or its last event is more than {format_duration(keep)} ago and the key expired" if keep else ""
    return Reason(
        found.source,
        f"there is no {' or '.join(keys)}: nothing was stored for this key under {read.layout.version}{gone}",
        f"check how the key is written, and that {job} runs for this version",
    )


def _streamed(read: Read, feature: StoredFeature) -> Reason:
    if not feature.tier.is_deferred:
        return _as_read(read, feature)
    value, asked = read.row[feature.name], feature.tier.query_time(read.at_us)
    if value.as_of_us is None:
        source = f"closed minutes, asked for {format_time(asked)}"
        return Reason(source, f"no minute is closed yet{_stood_in(value)}", _OPEN)
    found = _as_read(replace(read, at_us=min(asked, value.as_of_us)), feature)
    if value.status != STALE:
        return found
    late = _span(asked - value.as_of_us)
    why = f"closed up to {format_time(value.as_of_us)}, {late} behind what tier {feature.freshness} promises"
    return Reason(found.source, f"{why}; {found.why}", _OPEN)


def _as_read(read: Read, feature: StoredFeature) -> Reason:
    if isinstance(feature, LookupFeature):
        return _lookup(read, feature)
    sessions = session_reads(read.plan)
    if feature.name in sessions:
        return _session(read, sessions[feature.name])
    return _lifetime(read, feature) if needs_history(feature) else _window(read, feature)


def _lifetime(read: Read, feature: WindowFeature) -> Reason:
    (history,) = histories(read.plan, [feature])
    value, whole = read.row[feature.name], history.found(read.state, read.marks, read.at_us)
    stored = [snapshot.as_of_us for snapshot in read.state.batch.get(HISTORY, ())]
    source = f"field b:{HISTORY}, stored up to {_times(stored)}, and tiles since, before {format_time(read.at_us)}"
    why = _history(read, whole)
    if whole.is_short:
        return Reason(source, why + _stood_in(value), "featuredsl run batch, at least once a day")
    if value.event_time_us is None:
        return Reason(source, f"{why}; no event has come{_stood_in(value)}")
    null = "; the events give no value: theirs are null, filtered out, or too few" if value.value is None else ""
    newest = f"; newest event {_ago(value.event_time_us, read.at_us)}"
    return Reason(source, why + null + newest + _stood_in(value) + _ahead(value, read.at_us))


def _history(read: Read, whole: Whole) -> str:
    if whole.base is None:
        return f"no batch run is known, so only {whole.tiles} tiles count"
    horizon_us = whole.base.horizon_us
    upto = f"history up to {format_time(horizon_us)} by batch"
    upto += " (none of this key)" if whole.base.values is None else ""
    if horizon_us > read.at_us:
        between = "and events lie between, or came after that run" if whole.is_short else "and no event lies between"
        return f"{upto}, which is after the time asked, {between}"
    if whole.is_short:
        late = f"{_span(read.at_us - horizon_us)} before the time asked"
        return f"{upto}, {late}: tiles are kept for {format_duration(SPAN_US)}, so events after it are missing"
    return f"{upto}, {whole.tiles} tiles since"


def _window(read: Read, feature: WindowFeature) -> Reason:
    value, low_high = read.row[feature.name], feature.window.bounds(read.at_us)
    parts, newest, wanted = [], None, (feature.window.tile_us, feature.freshness)
    for tier in tile_tiers(read.plan):
        if tier.source in feature.source_names and (tier.hop_us, tier.freshness) == wanted:
            tiles = read.state.ring.get(tier.name, ())
            inside = sum(low_high[0] <= tile.index * tier.hop_us < low_high[1] for tile in tiles)
            parts.append(f"{inside} of {len(tiles)} filled tiles {tier.name} are inside")
            newest = max([tile.high_water_us for tile in tiles] + ([] if newest is None else [newest]), default=None)
    source = ", ".join([feature.window.describe(read.at_us), *parts])
    if value.status == DEGRADED:
        return Reason(
            source, "a part of the window is missing from the store", "look at the metrics of the feature job"
        )
    if value.event_time_us is None:
        seen = "" if newest is None else f"; the newest event of this key was at {_ago(newest, read.at_us)}"
        return Reason(source, f"no event is inside{seen}{_stood_in(value)}", _late(newest))
    ahead = _ahead(value, read.at_us)
    if value.status in (NULL, DEFAULT):
        why = f"the events inside give no value: theirs are null, filtered out, or too few{_stood_in(value)}"
        return Reason(source, why + ahead)
    return Reason(source, f"newest event {_ago(value.event_time_us, read.at_us)}{ahead}")


def _session(read: Read, of: SessionRead) -> Reason:
    value, tier = read.row[of.feature.name], of.tier
    records = read.state.sessions.get(tier.name, StoredSessions()).records
    closed = sum(one.last_us + tier.window.gap_us <= read.at_us for one in records)
    source = f"{of.feature.window.describe(read.at_us)}, {closed} of {len(records)} stored sessions {tier.name}"
    if value.status == DEGRADED and value.event_time_us is None:
        why = f"all {len(records)} sessions that are kept closed later; those before had to make room"
        return Reason(source, why, "read closer to the present, or take the value of a training set")
    if value.status == DEGRADED:
        return Reason(source, "a state of the session was too large", "look at the metric statesTooLarge of the job")
    if value.event_time_us is None:
        still = f"; the last event of an open one was at {_ago(records[0].last_us, read.at_us)}" if records else ""
        return Reason(source, f"no session has closed{still}{_stood_in(value)}")
    found = next(one for one in records if one.last_us == value.event_time_us)
    when = f"session from {format_time(found.first_us)} to {_ago(found.last_us, read.at_us)}, {found.rows} events"
    if value.status in (NULL, DEFAULT):
        return Reason(source, f"{when} that give no value: theirs are null, filtered out, or too few{_stood_in(value)}")
    return Reason(source, when)


def _late(newest: int | None) -> str:
    return "" if newest is None else "if there were events since then, look at the lag of the feature job"


def _lookup(read: Read, feature: LookupFeature) -> Reason:
    value = read.row[feature.name]
    ttl = "" if feature.ttl_us is None else f", at most {format_duration(feature.ttl_us)} old"
    source = f"field l:{feature.name}, the latest event before {format_time(read.at_us)}{ttl}"
    if value.event_time_us is None:
        which = "" if feature.where is None else " that passes the filter"
        return Reason(source, f"the field is not there: no event{which} has come{_stood_in(value)}")
    when = f"latest event {_ago(value.event_time_us, read.at_us)}"
    if value.status == EXPIRED and feature.ttl_us is not None:
        gone = format_time(value.event_time_us + feature.ttl_us)
        return Reason(source, f"{when}, expired at {gone}", "a longer ttl=, if the value still means something")
    null = f"; its {feature.column} is null{_stood_in(value)}" if value.status in (NULL, DEFAULT) else ""
    return Reason(source, when + null + _ahead(value, read.at_us))


def _batch(read: Read, feature: StoredFeature) -> Reason:
    value, asked = read.row[feature.name], feature.tier.query_time(read.at_us)
    stored = [snapshot.as_of_us for snapshot in read.state.batch.get(feature.freshness, ())]
    done = read.marks.get(feature.freshness, ())
    source = f"field b:{feature.freshness}, asked for {format_time(asked)}, stored as of {_times(stored)}"
    if value.as_of_us is None:
        known = f"; complete are {_times(done)}" if done else ""
        gone = any(time <= asked for time in done)
        why = "later values made room of those as of then" if gone else "no batch is complete as of then or before"
        return Reason(source, why + known, "featuredsl run batch")
    if value.as_of_us not in done:
        known = f", and the values as of {_times(done)} made room" if done else ""
        why = f"stored as of {format_time(value.as_of_us)} by a run that did not complete{known}"
        return Reason(source, why, "featuredsl run batch")
    why = f"batch complete as of {format_time(value.as_of_us)}"
    if value.as_of_us not in stored:
        why += " without this key: it had no event in the window then" + _stood_in(value)
    elif value.status in (NULL, DEFAULT):
        why += ", its value is null" + _stood_in(value)
    if value.status == STALE:
        late = _span(asked - value.as_of_us)
        return Reason(source, f"{why}, {late} behind what tier {feature.freshness} promises", "featuredsl run batch")
    return Reason(source, why)


def _computed(read: Read, feature: OnDemandFeature) -> Reason:
    given = [f"{name} = {read.row[name].value!r} {read.row[name].status}" for name in feature.inputs]
    given += [f"request {name}" for name, _ in feature.request]
    value = read.row[feature.name]
    source = f"computed from {', '.join(given) or 'nothing'}"
    if value.status not in (NULL, "OK"):
        worst = [name for name in feature.inputs if read.row[name].status == value.status]
        return Reason(source, f"the status is that of its input {worst[0]}" if worst else "", "see that input")
    if value.value is not None:
        return Reason(source, "the function gave it")
    nulls = [n for n in feature.inputs if read.row[n].value is None and n not in feature.nullable]
    if nulls:
        return Reason(source, f"{nulls[0]} is null, and the function does not take null for it", "see that input")
    if feature.request:
        return Reason(source, "the function gave null, or a request value is missing", "featuredsl get --request")
    return Reason(source, "the function gave null, failed, or its result was not finite")


def _stood_in(value: FeatureValue) -> str:
    return "; the declared default stands in" if value.status == DEFAULT else ""


def _ahead(value: FeatureValue, at_us: int) -> str:
    if value.event_time_us is None or value.event_time_us < at_us:
        return ""
    return "; that is not before the time asked, so later events may be counted (as_of tells)"


def _ago(us: int, at_us: int) -> str:
    age = at_us - us
    return format_time(us) + (f" ({_span(age)} before)" if age > 0 else "")


def _span(us: int) -> str:
    """A duration for people, to its second unit: `1d 2h`, `5m 3s`, `20ms`."""
    if us < SECOND:
        return format_duration(us if us < 1_000 else us // 1_000 * 1_000)
    units = (DAY, HOUR, MINUTE, SECOND)
    first = next(i for i, unit in enumerate(units) if us >= unit)
    step = units[min(first + 1, len(units) - 1)]
    whole, rest = divmod(us // step * step, units[first])
    return format_duration(whole * units[first]) + (f" {format_duration(rest)}" if rest else "")


def _times(times: Sequence[int]) -> str:
    return " and ".join(format_time(t) for t in times) or "never"
