"""Faults of a streaming job on real services: after each, Redis equals a recount of the log, byte for byte.

The tests share one job and run in their order; each sends more events. The long ones are marked `slow`.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from click.testing import CliRunner

from featuredsl.cli.history import history
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.errors import DependencyError
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.tiles import store_layout
from jobs.flink.metrics_cli import Watcher
from jobs.flink.rest import call
from jobs.flink.stream_status import stream_status
from jobs.flink.submit import checkpoint_dir, submit
from jobs.kafka import ensure_topics, read_all
from localstack.flink import probe_flink
from monitors.freshness import CHECKPOINT, SLACK_US, Objective
from tests.faults.conftest import WAIT_S, Running
from tests.support.faulty import DEFINITIONS, USERS, EventLog, StackProcess, recount
from tests.support.wait import until

DAY_MS = 86_400_000
pytestmark = pytest.mark.timeout(900)


def test_permutation_and_repeats(running: Running) -> None:
    running.send(running.log.random(3000))
    running.check("random order, a tenth sent twice")


def test_events_beyond_every_window_change_nothing(running: Running) -> None:
    """Nothing looks back by more than the hour of the latest value, to the millisecond, from the record's time."""
    log, hour = running.log, 3_600_000
    before = running.caught_up()
    beyond = [log.event(ts=log.start_ms - hour - n, u="u1") for n in range(30)]
    log.good += beyond
    log.late += 29
    log.send_bytes([json.dumps(event).encode() for event in beyond], timestamp=log.start_ms)
    after = running.caught_up()
    ring = running.layout.key(("u1",), "R").encode()
    assert after[ring] == before[ring]
    running.check("1 % of the events later than every window")
    running.check_counts()


def test_records_that_are_no_events(running: Running) -> None:
    log = running.log
    good = log.event()
    text = {key: value for key, value in good.items() if key != "ts"}
    now = time.time_ns() // 1_000_000

    def with_ts(ts: object) -> bytes:
        return json.dumps({**text, "ts": ts}).encode()

    def body(**given: object) -> bytes:
        return json.dumps({**good, **given}).encode()

    log.send_bad(
        [
            (b"", "bad_json"),
            (b'{"u": "a", "ts": ', "bad_json"),
            (b'{"u": "\xff", "ts": 1}', "bad_utf8"),
            (body()[:-1] + b', "x": NaN}', "duplicate_key"),
            (b'{"u": "a", "x": NaN, "ts": %d}' % now, "not_finite"),
            (b'{"u": "a", "x": Infinity, "ts": %d}' % now, "not_finite"),
            (b"[" * 10_000 + b"]" * 10_000, "too_deep"),
            (body(q="seven"), "bad_type"),
            (body(u=5), "bad_type"),
            (b"[1]", "not_object"),
            (None, "null_value"),
            (with_ts(now + DAY_MS), "future_time"),
            (with_ts(0), "bad_time"),
            (with_ts(-5), "bad_time"),
            (with_ts(now // 1000), "bad_time"),
            (json.dumps(text).encode(), "missing_field"),
            (body(u=None), "null_entity"),
            (json.dumps({key: value for key, value in good.items() if key != "u"}).encode(), "null_entity"),
            (body(s="x" * 5_000_000), "too_large"),
            (body(u=None, s="z" * 900_000), "null_entity"),
        ]
    )
    log.send([log.event(s="x" * 900_000), log.event(extra="y" * 900_000), log.event(added={"new": [1]})])
    without_x = {key: value for key, value in log.event(x=None).items() if key != "x"}
    log.send_bytes([json.dumps(without_x).encode()])
    log.good.append({**without_x, "x": None})
    log.send_bytes([json.dumps(with_header := log.event()).encode()], key=b"", headers=[("", b""), ("h", None)])
    log.good.append(with_header)
    log.heartbeats += 2
    log.send_bytes([json.dumps({"heartbeat": True, "ts": now}).encode()] * 2)
    running.check("20 kinds of bad records between good ones")
    running.check_counts()
    running.check_no_failure()


def test_one_partition_is_silent(running: Running) -> None:
    running.send(running.log.random(200), partition=1)
    running.check("one of two partitions silent")


def test_script_flush(running: Running) -> None:
    stop = threading.Event()

    def flush() -> None:
        while not stop.wait(0.02):
            running.server.client.script_flush()

    flusher = threading.Thread(target=flush)
    flusher.start()
    try:
        running.send(running.log.random(3000))
        running.caught_up()
    finally:
        stop.set()
        flusher.join()
    running.check("SCRIPT FLUSH 50 times a second", time.monotonic())
    running.check_no_failure()


def test_redis_stands_still(running: Running) -> None:
    ref = [(running.layout, (USERS[0],))]
    with OnlineStore(running.server.url, timeout_s=0.2) as store:
        store.read(ref)
        running.server.signal(signal.SIGSTOP)
        try:
            running.send(running.log.random(1000))
            asked = time.monotonic()
            with pytest.raises(DependencyError):
                store.read(ref)
            assert time.monotonic() - asked < 1.0
            time.sleep(10)
        finally:
            running.server.signal(signal.SIGCONT)
        ended = time.monotonic()
        running.check("Redis frozen for 10 s", ended)
        (other,) = store.read([(running.layout, ("nobody",))])
        assert not other.exists
    running.check_no_failure()


@pytest.mark.slow
def test_redis_is_full(running: Running) -> None:
    client = running.server.client
    with OnlineStore(running.server.url, namespace=running.settings.prefix) as store:
        firing = checkpoint_watch(running, store)
        client.config_set("maxmemory", 1_000_000)
        running.send(running.log.random(1000))
        with pytest.raises(DependencyError):
            running.job.wait_lag_zero(4)
        until(firing, 60, "the alert of overdue checkpoints fires")
        client.config_set("maxmemory", 0)
        running.check("maxmemory reached, noeviction", time.monotonic())
        until(lambda: not firing(), 20, "the alert resolves")
    assert [event["type"].rpartition(".")[2] for event in alerts_of(running, CHECKPOINT)][-2:] == ["firing", "resolved"]
    running.check_no_failure()


@pytest.mark.slow
def test_checkpoints_cannot_be_written(running: Running) -> None:
    folder = Path(url2pathname(urlsplit(checkpoint_dir(running.settings)).path)) / running.job.job_id
    aside = folder.with_name(f"{folder.name}.aside")
    failed = failed_checkpoints(running)
    folder.rename(aside)
    folder.write_text("a file where the folder was: nothing can be written below it")
    running.send(running.log.random(1000))
    until(lambda: failed_checkpoints(running) > failed, 60, "a checkpoint fails")
    expected = recount(running.layout, running.log.good)
    until(lambda: running.server.stored(running.layout.key_prefix) == expected, 30, "events are processed all the same")
    with OnlineStore(running.server.url, namespace=running.settings.prefix) as store:
        firing = checkpoint_watch(running, store)
        until(firing, 60, "the alert of overdue checkpoints fires")
        folder.unlink()
        aside.rename(folder)
        running.check("checkpoints cannot be written for a while", time.monotonic())
        until(lambda: not firing(), 20, "the alert resolves")
    told = alerts_of(running, CHECKPOINT)[-2:]
    assert [event["type"].rpartition(".")[2] for event in told] == ["firing", "resolved"]
    assert told[0]["data"]["model"] == running.job.name
    assert told[0]["data"]["threshold_reason"] == "checkpoint: at most 3s overdue; see the exceptions of the Flink job"
    running.check_no_failure()


def failed_checkpoints(running: Running) -> int:
    """Of the job since it began."""
    return int(call(running.job.url, f"/jobs/{running.job.job_id}/checkpoints")["counts"]["failed"])


@pytest.mark.slow
def test_a_hot_key(running: Running) -> None:
    log = running.log
    hot = [log.event(u="hot", q=log.rng.randrange(9)) for _ in range(16_000)]
    burst = hot + [log.event() for _ in range(4_000)]
    log.rng.shuffle(burst)
    running.send(burst)
    running.check("burst of 20,000 events, 80 % on one key", time.monotonic())
    running.check_no_failure()


def test_taskmanager_is_killed(running: Running) -> None:
    kill_taskmanager(running)
    running.check_counts()


@pytest.mark.slow
def test_taskmanager_is_killed_again_and_again(running: Running) -> None:
    for _ in range(4):
        kill_taskmanager(running)
    running.check_counts()


def kill_taskmanager(running: Running) -> None:
    """Kill it while it works, start it again at once."""
    running.send(running.log.random(5000))
    taskmanager = StackProcess.find(running.settings.home, "flink", "flink-taskmanager")
    taskmanager.kill()
    ended = time.monotonic()
    taskmanager.restart()
    running.send(running.log.random(5000))
    running.check("kill -9 TaskManager", ended)
    running.failures = running.job.exceptions()
    running.visits.send_late(5)
    running.caught_up()
    assert running.visits.wrong(running.server.url) == []


@pytest.mark.slow
def test_redis_comes_back_empty_and_is_rebuilt(running: Running) -> None:
    running.server.signal(signal.SIGKILL)
    running.marks.forget()
    running.send(running.log.random(500))
    time.sleep(2)
    running.server.start()
    with OnlineStore(running.server.url) as store:
        (state,) = store.read([(running.layout, ("hot",))])
    assert not state.exists
    running.caught_up()
    running.check_no_failure()
    running.job.cancel()
    ended = time.monotonic()
    running.restart(fresh=True)
    running.check("kill -9 Redis, comes back empty; rebuilt from Kafka", ended)
    running.check_counts()


@pytest.mark.slow
def test_the_topic_is_read_again_and_freshness_alerts(running: Running) -> None:
    before, version = running.caught_up(), running.layout.version
    limits = Objective({**SLACK_US, "realtime": 1_000_000, "5m": 10**18}, fire_after=2, clear_after=1)
    watcher = Watcher(running.settings, limits)
    with OnlineStore(running.server.url, namespace=running.settings.prefix) as store:

        def look() -> str:
            watcher.look(store, time.time_ns() // 1000)
            return "stale" if samples(watcher.text)["featuredsl_group_stale"] else "ok"

        assert look() == "ok"
        until(lambda: look() and samples(watcher.text)["featuredsl_stream_uncommitted_records"] == 0, 20, "committed")
        accepted, late = len(running.log.good) - running.log.late, running.log.late
        for outcome, count in (("accepted", accepted), ("late", late)):
            assert f'source="taps",outcome="{outcome}"}} {count}\n' in watcher.text
        found = samples(watcher.text)
        assert found["featuredsl_stream_job_up"] == 1
        assert 0 <= found["featuredsl_stream_checkpoint_age_seconds"] < 60
        assert found["featuredsl_stream_unread_records"] == 0
        refused = 'counter="rowsRefusedAsOlder"} '
        assert int(watcher.text.partition(refused)[2].partition("\n")[0]) > 0, "rows later than every window"
        running.job.cancel()
        running.log.send([running.log.event(u="later")])
        until(lambda: look() == "stale", 20, "the alert fires while the job is away")
        running.restart(fresh=True)
        running.check("the whole topic read again")
        until(lambda: look() == "ok", 20, "the alert resolves")
    after = running.server.stored(running.layout.key_prefix)
    old, new = version.encode(), running.layout.version.encode()
    assert {key.replace(new, old): value for key, value in after.items() if b"later" not in key} == before
    events = alerts_of(running, "realtime")
    assert [event["type"] for event in events] == ["featuredsl.drift.firing", "featuredsl.drift.resolved"]
    assert {event["subject"] for event in events} == {f"faulty/{version}/$freshness"}
    assert "CANCELED" in events[0]["data"]["threshold_reason"]
    status = stream_status(running.settings).as_data()
    visits = len(running.visits.counted) + running.visits.sent_late
    assert (status["jobs"][0]["accepted"], status["jobs"][0]["late"]) == (accepted + 1 + visits, late)
    assert status["groups"][0]["waiting_records"] == 0


def alerts_of(running: Running, segment: str) -> list[dict[str, Any]]:
    """The freshness alerts of a tier, or of checkpoints, in the order of their times."""
    sent = read_all(running.settings.kafka, f"{running.settings.prefix}drift_events")
    events = sorted((json.loads(r.value or b"") for r in sent), key=lambda event: str(event["time"]))  # two partitions
    return [event for event in events if event["data"]["segment"] == segment]


def checkpoint_watch(running: Running, store: OnlineStore) -> Callable[[], bool]:
    """Says, and tells on the topic of drift events, whether checkpoints are three seconds overdue."""
    watcher = Watcher(running.settings, Objective({**SLACK_US, CHECKPOINT: 3_000_000}, fire_after=2, clear_after=1))

    def firing() -> bool:
        watcher.look(store, time.time_ns() // 1000)
        seen = watcher.state.get((running.job.name, CHECKPOINT))
        return seen is not None and seen.firing_since_us is not None

    return firing


def samples(text: str) -> dict[str, float]:
    """Value by metric, summed over its samples."""
    found: dict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if not line.startswith("#"):
            found[line.partition("{")[0]] += float(line.rpartition(" ")[2])
    return found


@pytest.mark.slow
def test_broker_is_killed(running: Running) -> None:
    running.send(running.log.random(1000))
    broker = StackProcess.find(running.settings.home, "kafka", "kafka")
    broker.kill()
    time.sleep(20)
    broker.restart()
    ended = time.monotonic()
    running.send(running.log.random(1000))
    running.check("kill -9 broker for 20 s", ended)
    running.check_counts()


@pytest.mark.slow
def test_broker_stands_still(running: Running) -> None:
    running.send(running.log.random(1000))
    broker = StackProcess.find(running.settings.home, "kafka", "kafka")
    os.kill(broker.record.pid, signal.SIGSTOP)
    try:
        time.sleep(40)
    finally:
        os.kill(broker.record.pid, signal.SIGCONT)
    ended = time.monotonic()
    running.send(running.log.random(1000))
    running.check("broker frozen for 40 s", ended)
    running.check_counts()


@pytest.mark.slow
def test_broker_stands_still_for_longer_than_a_delivery_may_take(running: Running) -> None:
    """Dead letters are on their way when it stops; their sink waits for two minutes, then fails."""
    running.send(running.log.random(1000))
    sending = threading.Thread(target=running.log.send_bad, args=([(b"nope", "bad_json")] * 100_000,))
    broker = StackProcess.find(running.settings.home, "kafka", "kafka")
    sending.start()
    until(lambda: running.progress().counts.get("bad_json", 0) > 1000, 30, "dead letters are on their way")
    os.kill(broker.record.pid, signal.SIGSTOP)
    try:
        until(lambda: running.job.exceptions() != running.failures, 200, "the sink of dead letters fails")
    finally:
        os.kill(broker.record.pid, signal.SIGCONT)
    ended = time.monotonic()
    sending.join()
    running.send(running.log.random(1000))
    running.check("broker frozen until deliveries time out", ended)
    running.failures = running.job.exceptions()
    running.check_counts()


@pytest.mark.slow
def test_jobmanager_is_killed(running: Running) -> None:
    running.send(running.log.random(1000))
    running.job.checkpoint()
    running.send(running.log.random(1000))
    jobmanager = StackProcess.find(running.settings.home, "flink", "flink-jobmanager")
    jobmanager.kill()
    ended = time.monotonic()
    jobmanager.restart()
    running.send(running.log.random(1000))
    wait_for_slots(running)
    running.restart()
    running.check("kill -9 JobManager, resumed from the retained checkpoint", ended)
    running.check_counts()


def wait_for_slots(running: Running) -> None:
    """Until the JobManager has its TaskManager again."""
    until(lambda: probe_flink(running.settings.flink) is None, WAIT_S, "the TaskManager registers again")


@pytest.mark.slow
def test_rescaled_by_savepoint(running: Running) -> None:
    for parallelism in (2, 1):
        running.send(running.log.random(1000))
        begun = time.monotonic()
        savepoint = running.job.stop()
        running.send(running.log.random(1000))
        running.restart(restore=savepoint, parallelism=parallelism)
        running.check(f"stopped with a savepoint, restored with parallelism {parallelism}", begun)
        running.check_counts()


def test_reads_equal_history(running: Running, tmp_path: Path) -> None:
    """What a reader gets after all of that is what DuckDB computes from the log."""
    asked = running.log.start_ms + 1_000
    events, labels, out = (tmp_path / f"{name}.jsonl" for name in ("events", "labels", "out"))
    events.write_text("".join(f"{json.dumps(event)}\n" for event in running.log.good))
    users = [*USERS, "hot", "nobody"]
    labels.write_text("".join(f"{json.dumps({'u': user, 'ts': asked})}\n" for user in users))
    arguments = [str(DEFINITIONS), "--events", f"taps={events}", "--labels", str(labels), "--out", str(out)]
    CliRunner().invoke(history, arguments, catch_exceptions=False)
    running.caught_up()
    with OnlineStore(running.server.url, namespace=running.settings.prefix) as store:
        reader = FeatureReader(store, Registry.load(running.settings.registry))
        read = reader.get([("faulty", (user,)) for user in users], asked * 1000)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == len(users)
    for row, values in zip(rows, read, strict=True):
        assert {name: row[f"faulty__{name}"] for name in values} == {name: v.value for name, v in values.items()}, row


@pytest.mark.slow
def test_counts_outlive_the_state_of_features(running: Running) -> None:
    """A reason that is seen again after the tiles of the job have expired is counted on, not from one again."""
    settings, plan = running.settings, Registry.load(running.settings.registry).group("faulty")
    topic = f"{settings.prefix}short_taps"
    ensure_topics(settings.kafka, [topic, f"{topic}.dlq"])
    config = StreamConfig(settings.kafka, settings.redis, f"{settings.prefix}short_", "short")
    job = submit(
        "jobs.flink.sql_job",
        {
            "name": "short",
            "state_ttl_ms": 1_000,
            "statements": statements([GroupTarget(plan, store_layout(plan, "short"))], config),
        },
        settings,
    )
    short = replace(running, log=EventLog(settings, topic), job=replace(job, group_id="short"))
    try:
        for seen in (1, 2, 3):
            short.log.send_bytes([b"no json"])
            until(lambda: short.progress().counts == {"bad_json": seen}, 60, f"counted {seen}")  # noqa: B023
            time.sleep(4)
    finally:
        job.cancel()
