"""`featuredsl run batch` and `featuredsl parity` on real Kafka, Redis and the Spark cluster, against a recount."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl.finalize import FeatureValue
from featuredsl.online.store import OnlineStore
from featuredsl.parity import equal
from featuredsl.reader import FeatureReader
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from featuredsl.times import DAY, HOUR, MINUTE, format_time
from jobs.kafka import ensure_topics, producer
from tests.support.stack import TestStack

pytestmark = pytest.mark.timeout(900)

DEFINITIONS = Path(__file__).with_name("definitions.py")
CLI = (sys.executable, "-m", "featuredsl.cli.main")
# Written values expire, so they are of this week; `--at` refuses a time to come, so six hours have passed since TODAY.
TODAY = (time.time_ns() // 1000 - 6 * HOUR) // DAY * DAY
T1 = TODAY - DAY + 5 * HOUR + 30 * MINUTE
T2 = TODAY + 5 * HOUR
T3 = T2 + HOUR
KEYS = [("a", 1), ("a", 2), ("b|{", 2**53 + 1), ("quiet", 1)]
LATE = ("late", 1)
BAD: tuple[bytes | None, ...] = (
    b"nope",
    None,
    b'{"ts": 1}',
    b'{"u": "a", "u": "b"}',
    b'{"ts": 1790000000000, "x": 1.5}',
)
REASONS = {"bad_json": 1, "null_value": 1, "bad_time": 1, "duplicate_key": 1, "bad_type": 1}
Event = dict[str, Any]
Values = dict[str, Any]


def events_of(rng: random.Random) -> list[Event]:
    """Events of four days with distinct times, some nulls, one key that falls silent, sums beyond 2^53."""
    events = []
    for number, ts_us in enumerate(sorted(rng.sample(range(T2 - 4 * DAY, T2, 1000), 600))):
        key = rng.choice(KEYS[:3]) if ts_us >= T1 - 2 * DAY else rng.choice(KEYS)
        x = rng.choice([None, 2**53 + 1, -(2**40), number])
        f = None if rng.random() < 0.2 else rng.uniform(-1, 1)
        events.append({"u": key[0], "m": key[1], "x": x, "f": f, "s": f"é{number}", "ts": ts_us // 1000})
    return events


def recount(events: Iterable[Event], key: tuple[str, int], at: int) -> Values:
    """The features by their definition, one event after another."""
    mine = [e for e in events if (e["u"], e["m"]) == key]
    hourly, daily = (at - 10 * MINUTE) // HOUR * HOUR, (at - HOUR) // DAY * DAY

    def between(low: int, high: int) -> list[Event]:
        return [e for e in mine if low <= e["ts"] * 1000 < high]

    xs = [e["x"] for e in between((hourly - DAY) // HOUR * HOUR, hourly) if e["x"] is not None]
    fs = [e["f"] for e in between(daily - 2 * DAY, daily) if e["f"] is not None]
    seen = between(hourly - 2 * DAY, hourly)
    return {
        "n": len(between(hourly - 6 * HOUR, hourly)),
        "total": sum(xs) if xs else None,
        "last": max(seen, key=lambda e: e["ts"])["s"] if seen else None,
        "mean": sum(fs) / len(fs) if fs else -1.0,
        "before": len(between(daily - 2 * DAY, daily - DAY)),
        "missing": 100 - len(between(hourly - 6 * HOUR, hourly)),
    }


@dataclass
class Run:
    """What happened: the summary of each batch, the reads after it, and what had been sent by then."""

    settings: Settings
    registry: Registry
    events: list[Event]
    late: list[Event]
    summaries: list[dict[str, Any]]
    reads: dict[int, list[tuple[tuple[str, int], dict[str, FeatureValue]]]]


def send(settings: Settings, events: Iterable[Event], raw: Iterable[bytes | None] = ()) -> None:
    """Events to both partitions by key, then raw payloads, then heartbeats."""
    out = producer(settings.require("kafka"))
    topic = f"{settings.prefix}events"
    for event in events:
        out.produce(topic, json.dumps(event, ensure_ascii=False).encode(), event["s"])
    for payload in raw:
        out.produce(topic, payload, partition=0)
    for partition in (0, 1):
        out.produce(topic, json.dumps({"heartbeat": True, "ts": T3 // 1000}).encode(), partition=partition)
    assert out.flush(30) == 0


def environment(settings: Settings) -> dict[str, str]:
    """The settings of a command."""
    return os.environ | settings.environment()


def read_all_keys(settings: Settings, registry: Registry, at: int) -> Any:
    """Every key as read at a time."""
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        keys = [*KEYS, ("nobody", 1)]
        rows = FeatureReader(store, registry).get([("pair", key) for key in keys], at, {"goal": 100})
        return list(zip(keys, rows, strict=True))


@pytest.fixture(scope="module")
def ran(stack: TestStack) -> Run:
    """One batch application: as of T1 twice, then as of T2 and T3 after more events."""
    settings = stack.need("kafka", "redis", "spark")
    ensure_topics(settings.require("kafka"), [f"{settings.prefix}events"])
    versions = apply(settings.registry, DEFINITIONS, store_suffix=settings.prefix)
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        for group, version in versions.items():
            store.set_current(group, version)
    events = events_of(random.Random(3))
    late = [{"u": LATE[0], "m": LATE[1], "x": 1, "f": 1.0, "s": "l", "ts": (T1 - 3 * HOUR) // 1000}]
    run = Run(settings, Registry.load(settings.registry), events, late, [], {})
    command = [*CLI, "run", "batch", "--stdin", "--json"]
    with subprocess.Popen(
        command, env=environment(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as batch:

        def as_of(at: int) -> None:
            assert batch.stdin is not None
            assert batch.stdout is not None
            batch.stdin.write(f"{format_time(at)}\n")
            batch.stdin.flush()
            run.summaries.append(json.loads(batch.stdout.readline()))
            run.reads[at] = read_all_keys(settings, run.registry, at)

        send(settings, [e for e in events if e["ts"] * 1000 < T1], BAD)
        as_of(T1)
        as_of(T1)
        send(settings, [e for e in events if e["ts"] * 1000 >= T1] + late)
        as_of(T2)
        as_of(T3)
        assert batch.stdin is not None
        batch.stdin.close()
        assert batch.wait(60) == 0
    return run


def landed(run: Run) -> duckdb.DuckDBPyRelation:
    """The landed history, read by another engine."""
    folder = run.settings.home / "history" / f"{run.settings.prefix}events" / "data"
    return duckdb.read_parquet(f"{folder}/*/*/*.parquet", hive_partitioning=True)


def test_landing_counts_every_record_once(ran: Run) -> None:
    first, again, second, third = (summary["sources"]["events"] for summary in ran.summaries)
    early = sum(e["ts"] * 1000 < T1 for e in ran.events)
    assert (first["landed"], first["reasons"], first["heartbeats"]) == (early, REASONS, 2)
    assert (again["landed"], again["rejected"], again["heartbeats"]) == (0, 0, 0)
    assert (second["landed"], second["rejected"]) == (len(ran.events) - early + 1, 0)
    assert third["landed"] == 0


def test_landed_rows_are_exact(ran: Run) -> None:
    rows = landed(ran).order("ts_us, s").select("u, m, x, f, s, ts_us").fetchall()
    sent = sorted(ran.events + ran.late, key=lambda e: (e["ts"], e["s"]))
    assert rows == [(e["u"], e["m"], e["x"], e["f"], e["s"], e["ts"] * 1000) for e in sent]
    dates = landed(ran).select("count(*) FILTER (WHERE CAST(make_timestamp(ts_us) AS DATE) = event_date)")
    assert dates.fetchall() == [(len(sent),)]


@pytest.mark.parametrize("at", [T1, T2, T3])
def test_values_equal_a_recount(ran: Run, at: int) -> None:
    dtypes = {"n": "int", "total": "int", "last": "str", "mean": "float", "before": "int", "missing": "int"}
    for key, found in ran.reads[at]:
        for name, expected in recount(ran.events, key, at).items():
            assert equal(found[name].value, expected, dtypes[name]), (key, name, found[name], expected)  # type: ignore[arg-type]
    assert {value.status for _, found in ran.reads[at][:3] for value in found.values()} <= {"OK", "NULL", "DEFAULT"}
    assert ran.reads[at][0][1]["n"].as_of_us == (at - 10 * MINUTE) // HOUR * HOUR
    assert ran.reads[at][-1][1]["n"].status == "NOT_FOUND"


def test_late_event_is_healed(ran: Run) -> None:
    with OnlineStore(ran.settings.require("redis"), namespace=ran.settings.prefix) as store:
        found = FeatureReader(store, ran.registry).get([("pair", LATE)], T2, {"goal": 1})[0]
    assert found["last"].value == "l"
    assert found["mean"].value == 1.0


def test_current_and_previous_are_kept(ran: Run) -> None:
    layout = ran.registry.layout("pair")
    with OnlineStore(ran.settings.require("redis"), namespace=ran.settings.prefix) as store:
        state = store.read([(layout, KEYS[0])])[0]
    hours = [snapshot.as_of_us for snapshot in state.batch["1h"]]
    assert hours == [(t - 10 * MINUTE) // HOUR * HOUR for t in (T3, T2)]
    assert [snapshot.as_of_us for snapshot in state.batch["1d"]] == [TODAY, TODAY - DAY]
    assert {done["tier"] for done in ran.summaries[0]["groups"]} == {"1h", "1d"}


def test_parquet_copies_hold_what_was_written(ran: Run) -> None:
    version = ran.registry.store_versions["pair"]
    folder = ran.settings.home / "materialised" / f"pair@{version}" / "1h"
    as_of = [f"as_of_us={(t - 10 * MINUTE) // HOUR * HOUR}" for t in (T1, T2, T3)]
    assert sorted(path.name for path in folder.iterdir()) == as_of
    rows = duckdb.read_parquet(f"{folder / as_of[1]}/*.parquet").select("u, m, pair__n").fetchall()
    expected = {key: recount(ran.events, key, T2)["n"] for key in KEYS[:3]}
    assert {(u, m): n for u, m, n in rows if (u, m) in expected} == expected


def logged(run: Run, planted: int = 0) -> list[str]:
    """The reads as lines; the first `planted` values of `n` are one too high."""
    lines = []
    for at, reads in run.reads.items():
        for key, found in reads:
            features = {
                name: {"value": v.value, "status": v.status, "as_of": v.as_of_us, "event_time": v.event_time_us}
                for name, v in found.items()
            }
            if len(lines) < planted:
                features["n"] |= {"value": features["n"]["value"] + 1}  # type: ignore[operator]
            record = {"at": at, "group": "pair", "key": list(key), "request": {"goal": 100}, "features": features}
            lines.append(json.dumps(record))
    return lines


@pytest.mark.parametrize(("planted", "code"), [pytest.param(0, 0, marks=pytest.mark.slow), (1, 1)])
def test_parity(ran: Run, tmp_path: Path, planted: int, code: int) -> None:
    file = tmp_path / "reads.jsonl"
    file.write_text("\n".join(logged(ran, planted)) + "\n", encoding="utf-8")
    command = [*CLI, "parity", "--reads", str(file), "--json"]
    done = subprocess.run(command, env=environment(ran.settings), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    report = json.loads(done.stdout)
    wrong = {f["feature"]: f["mismatch"] for f in report["features"] if f["mismatch"]}
    assert wrong == ({"n": 1} if planted else {})
    assert (report["missing"], report["extra"], report["ahead"], report["lagging"]) == (0, 0, 0, 0)
    assert report["values"] == len(ran.reads) * (len(KEYS) + 1) * 6
    assert report["non_trivial"] > report["values"] / 2
