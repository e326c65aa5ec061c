"""Faults while minutes are open: what the tier 5m says stays what the events in time make of it, to the last value.

The faults of `test_streaming` compare closed minutes too; these need a state of their own: a partition without records,
late events in flight, windows that are half full. The tests go on with the job of `test_streaming`.
"""

from __future__ import annotations

import signal
import time

import pytest

from tests.faults.conftest import Running
from tests.support.faulty import StackProcess
from tests.support.wait import until

pytestmark = pytest.mark.timeout(900)


def test_late_visits_are_kept_apart(running: Running) -> None:
    """From the microsecond before the end of the last closed minute on back; the next minute is open."""
    running.visits.minutes(3)
    running.check("one minute after another")
    running.visits.send_late(20)
    running.visits.minutes(1)
    running.check("20 visits later than their minute's close")
    running.check_counts()


def test_a_silent_partition_holds_minutes_open(running: Running) -> None:
    before = running.visits.closed
    running.visits.minutes(7, partitions=[0])
    running.visits.close(partitions=[0])
    running.caught_up()
    assert running.visits.closed == before
    running.check_marks()
    assert running.visits.wrong(running.server.url) == []
    running.check("one of two partitions of visits silent until its heartbeat")


@pytest.mark.slow
@pytest.mark.parametrize("speaks", [0, 1])
def test_a_silent_partition_holds_minutes_open_through_a_death(running: Running, speaks: int) -> None:
    """After the restart the silent partition has no event time at all."""
    before = running.visits.closed
    running.visits.minutes(4, partitions=[speaks])
    taskmanager = StackProcess.find(running.settings.home, "flink", "flink-taskmanager")
    taskmanager.kill()
    taskmanager.restart()
    ended = time.monotonic()
    running.visits.minutes(4, partitions=[speaks])
    running.visits.close(partitions=[speaks])
    running.caught_up()
    assert running.visits.closed == before
    running.check_marks()
    assert running.visits.wrong(running.server.url) == []
    running.check("kill -9 TaskManager while a partition of visits is silent", ended)
    running.failures = running.job.exceptions()


@pytest.mark.slow
def test_open_minutes_go_on_with_another_parallelism(running: Running) -> None:
    """In the middle of a tile of five minutes, of sessions, and of minutes themselves."""
    for parallelism in (2, 1):
        running.visits.minutes(3)
        running.caught_up()
        savepoint = running.job.stop()
        begun = time.monotonic()
        running.visits.minutes(1)
        running.restart(restore=savepoint, parallelism=parallelism)
        running.visits.minutes(1)
        running.check(f"minutes open at a savepoint, restored with parallelism {parallelism}", begun)
        running.visits.send_late(3)
        running.visits.minutes(1)
        running.check(f"late visits with parallelism {parallelism}")


@pytest.mark.slow
def test_a_late_visit_in_flight_at_a_death_changes_no_value(running: Running) -> None:
    """Read again, it finds event time that begins anew: the window refuses it, or it is on the topic of late ones."""
    known = list(running.visits.late)
    running.visits.minutes(1)
    running.check("before late visits in flight")
    running.visits.send_late(20)
    running.visits.minutes(2)
    running.visits.send_late(20)
    time.sleep(1)
    taskmanager = StackProcess.find(running.settings.home, "flink", "flink-taskmanager")
    taskmanager.kill()
    taskmanager.restart()
    ended = time.monotonic()
    running.visits.send_late(20)
    running.visits.minutes(2)
    running.check("kill -9 TaskManager while late visits are in flight", ended)
    running.failures = running.job.exceptions()
    letters = [event["x"] for event in running.visits.late_letters()]
    sent = running.visits.late
    running.visits.late = [event for event in sent if event["x"] in letters]
    running.visits.refused = [event for event in sent if event["x"] not in letters]
    assert [event for event in known if event["x"] not in letters] == []
    running.check_counts()


@pytest.mark.slow
def test_with_an_idle_timeout_a_silent_partition_holds_nothing_open(running: Running) -> None:
    """It is waited for again when it has spoken. Redis stands still for longer: partitions that speak are not idle."""
    visits = running.visits
    running.restart(restore=running.job.stop(), idle_timeout_ms=8_000)
    for partition in (0, 1):
        visits.minutes(3, partitions=[partition])
        visits.close(partitions=[partition])
        visits.closed = visits.end
        until(lambda: set(running.marks.of(running.version("minutes")).values()) == {visits.closed}, 40, "idle")
        visits.close()
        running.caught_up()
        running.send(running.log.random(100))
        running.check(f"partition {1 - partition} idle, then not")
    running.server.signal(signal.SIGSTOP)
    try:
        running.send(running.log.random(20_000))
        for _ in range(5):
            visits.minutes(1)
            time.sleep(4)
    finally:
        running.server.signal(signal.SIGCONT)
    running.check("Redis frozen for longer than the idle timeout", time.monotonic())
    running.check_counts()


@pytest.mark.slow
def test_with_state_on_disk(running: Running) -> None:
    """The whole topic again, then on from its own checkpoint; the last test, as other backends cannot go on from it."""
    running.job.cancel()
    begun = time.monotonic()
    running.restart(fresh=True, state_backend="rocksdb", parallelism=2)
    running.check("the whole topic read again, state in RocksDB", begun)
    running.send(running.log.random(3000))
    taskmanager = StackProcess.find(running.settings.home, "flink", "flink-taskmanager")
    taskmanager.kill()
    taskmanager.restart()
    ended = time.monotonic()
    running.send(running.log.random(3000))
    running.check("kill -9 TaskManager, state in RocksDB", ended)
