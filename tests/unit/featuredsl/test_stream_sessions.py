"""Sessions that a stream keeps, without a stream: what stands where, what a read gives, costs, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group, ratio, session, union
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.costs import cost
from featuredsl.errors import UnsupportedError
from featuredsl.finalize import FeatureValue, Finalizer
from featuredsl.online.request import EntityState
from featuredsl.online.session_codec import SessionRecord, StoredSessions
from featuredsl.plan import GroupPlan
from featuredsl.prepared import Place
from featuredsl.read_reasons import Read, reason
from featuredsl.session_tiers import session_tiers
from featuredsl.tiles import deferred_sources, longest_reach_us, store_layout, timed_streams
from featuredsl.times import MINUTE, SECOND

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "item": str, "price": float, "n": int})
shows = EventSource("shows", event_time="ts", schema={"user": str})
copies = EventSource("copies", event_time="ts", schema={"user": str, "id": str}, unique="id", within="1m")
some = union("some", shows, copies)
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
LIVE, CLOSED = "clicks/session_1m", "clicks/session_1m@5m"


@feature_group(name="g", entity="user")
class G:
    @feature(freshness="realtime", window=session("1m"))
    def n(c: clicks) -> int:
        return c.count()

    @feature(freshness="realtime", window=session("1m"), default=-1)
    def total(c: clicks) -> int:
        return c.n.sum()

    @feature(freshness="realtime", window=session("60s"))
    def items(c: clicks) -> list[str]:
        return c.item.last_k(2)

    @feature(freshness="realtime", window="1h")
    def shown(s: shows) -> int:
        return s.count()

    @feature(freshness="5m", window=session("1m"))
    def later(c: clicks) -> int:
        return c.count()

    @feature(freshness="realtime", window=session("1m"))
    def dear(c: clicks) -> float | None:
        return ratio(c.filter(c.price > 1.0).count(), c.filter(c.item == "a").count())


PLAN: GroupPlan = G.plan  # type: ignore[attr-defined]


def record(first: int, last: int, rows: int, total: int | None = None, lost: tuple[int, ...] = ()) -> SessionRecord:
    """Times in seconds from the start."""
    return SessionRecord(START + first * SECOND, START + last * SECOND, rows, (rows, total), (None,), lost)


def state(*records: SessionRecord, is_cut: bool = False, closed: tuple[SessionRecord, ...] = ()) -> EntityState:
    deferred = tuple(SessionRecord(one.first_us, one.last_us, one.rows, (one.rows,)) for one in closed)
    sessions = {LIVE: StoredSessions(records, is_cut), CLOSED: StoredSessions(deferred)}
    return EntityState(True, {"shows/5m": ()}, {}, {}, {}, sessions)


def read(of: EntityState, at: float, marks: dict[str, tuple[int, ...]] | None = None) -> dict[str, FeatureValue]:
    return Finalizer(PLAN).values(of, START + round(at * SECOND), marks or {})


TWO = (record(200, 260, 4, 9), record(0, 100, 3))


def test_tiers_are_by_source_gap_filter_and_freshness() -> None:
    tiers = session_tiers(PLAN)
    assert [(tier.name, len(tier.numbers), len(tier.states), tier.kept) for tier in tiers[::2]] == [
        (LIVE, 2, 1, 4),
        (CLOSED, 1, 0, 4),
    ]
    assert tiers[1].name.startswith("clicks/session_1m_")
    assert [field.hash_field for field in store_layout(PLAN).sessions] == [f"s:{tier.name}" for tier in tiers]
    assert {tier.name: tier.kept for tier in (one(session(g)) for g in ("1s", "45s", "90s", "2m", "30m"))} == {
        "clicks/session_1s": 92,
        "clicks/session_45s": 4,
        "clicks/session_90s": 3,
        "clicks/session_2m": 3,
        "clicks/session_30m": 3,
    }


def one(window: Any) -> Any:
    (tier,) = session_tiers(made(window))
    return tier


def made(window: Any, **options: Any) -> GroupPlan:
    @feature_group(name="one", entity="user")
    class One:
        @feature(**{"freshness": "realtime", "window": window, **options})
        def x(c: clicks) -> int:
            return c.count()

    return One.plan  # type: ignore[attr-defined, no-any-return]


def test_the_last_session_that_has_closed_is_the_value_from_its_gap_on_for_ever() -> None:
    for at, n, total, last in [
        (159.999999, 0, (-1, "DEFAULT"), None),
        (160, 3, (-1, "DEFAULT"), 100),
        (319.999999, 3, (-1, "DEFAULT"), 100),
        (320, 4, (9, "OK"), 260),
        (10**9, 4, (9, "OK"), 260),
    ]:
        found = read(state(*TWO), at)
        asked = START + round(at * SECOND)
        newest = None if last is None else START + last * SECOND
        assert found["n"] == FeatureValue(n, "OK", asked, newest)
        assert found["total"] == FeatureValue(*total, asked, newest)
        assert found["items"] == FeatureValue(None, "NULL", asked, newest)
        assert found["dear"] == FeatureValue(None, "NULL", asked, None)


def test_a_read_so_far_back_that_the_session_had_to_make_room_is_degraded() -> None:
    found = read(state(*TWO, is_cut=True), 159)
    assert (found["n"].value, found["n"].status) == (0, "DEGRADED")
    assert read(state(*TWO, is_cut=True), 160)["n"].status == "OK"
    nobody = EntityState(False, {"shows/5m": ()}, {}, {})
    assert {value.status for value in read(nobody, 160).values()} == {"NOT_FOUND"}


def test_a_state_that_was_left_out_degrades_its_features_only() -> None:
    found = read(state(record(0, 100, 3, 5, lost=(0,))), 160)
    assert [found[name].status for name in ("n", "total", "items")] == ["OK", "OK", "DEGRADED"]


def test_a_deferred_feature_asks_at_its_closed_minute() -> None:
    stored = state(closed=TWO)
    marks = {CLOSED: (START + 6 * MINUTE,)}
    assert read(stored, 209.999999, marks)["later"].value == 0
    assert read(stored, 210, marks)["later"] == FeatureValue(3, "OK", START + 3 * MINUTE, START + 100 * SECOND)
    assert read(stored, 390, marks)["later"] == FeatureValue(4, "OK", START + 6 * MINUTE, START + 260 * SECOND)
    stale = read(stored, 390, {CLOSED: (START + 5 * MINUTE,)})["later"]
    assert stale == FeatureValue(3, "STALE", START + 5 * MINUTE, START + 100 * SECOND)
    assert read(stored, 390)["later"] == FeatureValue(0, "STALE", None, None)
    assert Finalizer(PLAN).stream_marks == (CLOSED,)


def test_a_part_of_the_features_reads_its_own_fields() -> None:
    layout = store_layout(PLAN)
    for names, fields in ((["later"], [f"s:{CLOSED}"]), (["items", "n"], [f"s:{LIVE}"]), (["shown"], [])):
        place = Place(Finalizer(PLAN, names), layout)
        assert list(place.read.hash_fields) == fields
        assert ("X" in place.probes) is True


def test_reasons_tell_of_the_sessions_that_are_stored() -> None:
    def why(stored: EntityState, at: float, name: str) -> tuple[str, str]:
        row = read(stored, at, {CLOSED: (START + 60 * MINUTE,)})
        asked = Read(PLAN, store_layout(PLAN), ("u",), stored, START + round(at * SECOND), {}, row)
        found = reason(asked, name)
        return found.source, found.why

    source, because = why(state(*TWO), 320, "n")
    assert source.endswith(f"2026-01-01T10:04:20.000000Z, 2 of 2 stored sessions {LIVE}")
    assert because == "session from 2026-01-01T10:03:20.000000Z to 2026-01-01T10:04:20.000000Z (1m before), 4 events"
    assert why(state(*TWO), 160, "total")[1].endswith(
        "3 events that give no value: theirs are null, filtered out, or too few; the declared default stands in"
    )
    assert why(state(*TWO), 5, "n")[1].startswith("no session has closed; the last event of an open one was at")
    assert why(state(), 5, "total")[1] == "no session has closed; the declared default stands in"
    assert why(state(*TWO, is_cut=True), 5, "n")[1].startswith("all 2 sessions that are kept closed later")
    assert why(state(record(0, 1, 1, lost=(0,))), 99, "items")[1] == "a state of the session was too large"
    assert why(state(closed=TWO), 390, "later")[1].endswith("(1m 40s before), 4 events")


def test_costs_count_every_session_that_is_kept_and_one_that_is_open() -> None:
    found = cost(made(session("30m")))
    assert found.hash_fields == 1
    assert found.hash_bytes == 48 + 1 + 3 * (28 + 9)
    assert found.state_bytes == 64 + 28 + 9
    assert longest_reach_us(made(session("30m"))) == 0


def test_sessions_need_event_time_and_are_no_deferred_source() -> None:
    plan = made(session("30m"))
    assert [source.name for source in timed_streams([plan])] == ["clicks"]
    assert deferred_sources([plan]) == {}
    program = "\n".join(statements([GroupTarget(plan, store_layout(plan))], CONFIG))
    assert program.count("WATERMARK FOR `_rowtime`") == 1
    assert program.count("'topic' = 'p.clicks.late'") == 1
    assert "mark-" not in program


@feature_group(name="live", entity="user")
class Live:
    @feature(freshness="realtime", window=session("1m"))
    def n(c: copies) -> int:
        return c.count()

    @feature(freshness="realtime", window=session("1m"))
    def of_some(s: some) -> int:
        return s.count()


def test_realtime_sessions_read_no_view_that_waits_for_the_watermark() -> None:
    plan: GroupPlan = Live.plan  # type: ignore[attr-defined]
    program = statements([GroupTarget(plan, store_layout(plan))], CONFIG)
    assert [part for part in program if "fdsl_first_in_time" in part or "__in_time" in part] == []
    for name in ("copies", "some"):
        (view,) = (part for part in program if part.startswith(f"CREATE TEMPORARY VIEW `{name}__live` AS"))
        assert view.count("fdsl_first_arrival(input => TABLE `copies__keyed_live` PARTITION BY `_shard`") == 1
        assert view.count("uid => 'unique-copies-live'") == 1
        (rows,) = (part for part in program if f"`live__{name}__session_1m__rows` AS" in part)
        assert f"FROM `{name}__live`" in rows
    assert "SELECT `user`, `_ts`, `_rowtime` FROM `shows`" in view


def test_a_ring_keeps_the_hash_of_a_group_with_sessions_alive() -> None:
    for plan, extended in ((PLAN, 1), (made("1h"), 0)):
        program = statements([GroupTarget(plan, store_layout(plan))], CONFIG)
        (ring,) = (part for part in program if "'mode' = 'ring'" in part)
        assert ring.count("'extend-hash' = 'true'") == extended


@pytest.mark.parametrize("freshness", ["realtime", "5m"])
def test_a_gap_below_a_second_is_refused_in_a_stream_only(freshness: str) -> None:
    plan = made(session("999ms"), freshness=freshness)
    for target, compile_it in (
        ("flink", lambda: statements([GroupTarget(plan, store_layout(made("1h")))], CONFIG)),
        ("online store", lambda: store_layout(plan)),
    ):
        with pytest.raises(UnsupportedError) as caught:
            compile_it()
        wanted = [f"{target}: one.x (", "test_stream_sessions.py:", "use a gap of 1s or more", "freshness 1h or 1d"]
        assert [part for part in wanted if part not in str(caught.value)] == []
    store_layout(made(session("999ms"), freshness="1h"))
    store_layout(made(session("1s"), freshness=freshness))
