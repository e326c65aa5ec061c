"""Landed events that a topic has forgotten, put back on a topic of their own beside it, for a rebuild to read.

A feature job reads both topics: the landed records before the topic's first offset, and the topic. No record is in
both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
from confluent_kafka import KafkaError, Message, Producer

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.errors import DependencyError
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US, format_time
from jobs.kafka import delete_topics, ensure_topics, producer, topic_names
from jobs.kafka_offsets import begin_offsets
from jobs.landed import History

SUFFIX = ".refill-"
FLUSH_S = 60.0
_ROWS = 2_000
Say = Callable[[str], None]


def refill(bootstrap: str, home: Path, topic: str, source: EventSource, token: str, say: Say) -> str | None:
    """Produce what `topic` no longer holds of its landed history to `<topic>.refill-<token>`; the name of that topic.

    None when the topic still has its first records. What was never landed is named by `say`: it is lost. Raises
    DependencyError when the broker does not take it.
    """
    begins = begin_offsets(bootstrap, topic)
    if not any(begins.values()):
        return None
    history = History(home, topic)
    for partition, begin in begins.items():
        for first, end in _gaps(history, partition, begin):
            say(f"{topic}[{partition}]: offsets {first} to {end - 1} are in neither the topic nor {history.root}: lost")
    paths = history.paths()
    if not paths:
        return None
    made = f"{topic}{SUFFIX}{token}"
    ensure_topics(bootstrap, [made], partitions=len(begins))
    say(f"putting landed records of {topic} on {made}")
    count = _produce(bootstrap, made, source, paths, begins)
    say(f"{count:,} landed records of {topic} are on {made}")
    return made


def remove_refills(bootstrap: str, topics: Iterable[str], kept: Collection[str]) -> None:
    """Delete the refill topics of some topics but those `kept`: of jobs that were replaced, or never came up."""
    starts = tuple(topic + SUFFIX for topic in topics)
    delete_topics(bootstrap, [name for name in topic_names(bootstrap) if name.startswith(starts) and name not in kept])


def as_record(source: EventSource, row: Mapping[str, Any]) -> bytes:
    """The JSON of a landed row: it decodes to the same columns and times."""
    unit = UNIT_US[source.time_unit]
    times = {field: row[name] for name, field in source.time_columns.items()}
    record = {name: row.get(name) for name in source.column_names}
    for field, us in times.items():
        record[field] = None if us is None else us // unit if us % unit == 0 else format_time(us)
    return json.dumps({name: value for name, value in record.items() if value is not None}).encode()


def _gaps(history: History, partition: int, begin: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of offsets before `begin` that no batch holds."""
    at = 0
    for first, end in sorted(batch.ranges.get(str(partition), (0, 0)) for batch in history.batches()):
        if first > at and at < begin:
            yield at, min(first, begin)
        at = max(at, end)
    if at < begin:
        yield at, begin


def _produce(bootstrap: str, topic: str, source: EventSource, paths: list[str], begins: Mapping[int, int]) -> int:
    out, count = _Sender(producer(bootstrap), topic), 0
    for partition, begin in begins.items():
        for row in _rows(paths, source, partition, begin):
            out.send(partition, as_record(source, row), row["_kafka_ts"])
            count += 1
    out.close()
    return count


def _rows(paths: list[str], source: EventSource, partition: int, begin: int) -> Iterator[dict[str, Any]]:
    """Landed rows of a partition before an offset, in order; in parts, whatever the size of the history."""
    globs = ", ".join(DUCKDB.text(f"{path}/**/*.parquet") for path in paths)
    arrived = "" if source.arrival_time is None else ", coalesce(arrival_us, _kafka_ts * 1000) AS arrival_us"
    query = (
        f"SELECT * EXCLUDE (arrival_us){arrived} FROM read_parquet([{globs}], union_by_name = true, "
        f"hive_partitioning = false) WHERE _partition = {partition} AND _offset < {begin} ORDER BY _offset"
    )
    with duckdb.connect() as con:
        result = con.execute(query)
        names = [column[0] for column in result.description or ()]
        while rows := result.fetchmany(_ROWS):
            for row in rows:
                yield dict(zip(names, row, strict=True))


class _Sender:
    """A producer that raises what a delivery reported."""

    def __init__(self, out: Producer, topic: str) -> None:
        self._out, self._topic = out, topic
        self._failed: KafkaError | None = None

    def send(self, partition: int, value: bytes, timestamp_ms: int) -> None:
        while True:
            try:
                self._out.produce(
                    self._topic, value, partition=partition, timestamp=timestamp_ms, on_delivery=self._delivered
                )
            except BufferError:
                self._out.poll(0.1)
                self._check()
            else:
                self._out.poll(0)
                return

    def close(self) -> None:
        deadline = time.monotonic() + FLUSH_S
        while self._out.flush(1.0) and time.monotonic() < deadline:
            self._check()
        self._check()
        if len(self._out):
            raise DependencyError(f"Kafka has not taken {len(self._out)} records of {self._topic}; try again")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._failed = error or self._failed

    def _check(self) -> None:
        if self._failed is not None:
            raise DependencyError(f"Kafka does not take records of {self._topic}: {self._failed.str()}")
