"""Landed events that a topic has forgotten, put back on a topic of their own beside it, for a rebuild to read.

A feature job reads both topics: the landed records before the topic's first offset, and the topic. No record is in
both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from confluent_kafka import KafkaError, Message, Producer

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.errors import DependencyError
from featuredsl.sources import EventSource
from featuredsl.tiles import MAX_AHEAD_S
from featuredsl.times import DAY, SECOND, UNIT_US, format_time
from jobs.kafka import delete_topics, ensure_topics, producer, topic_names
from jobs.kafka_offsets import begin_offsets
from jobs.landed import History

SUFFIX = ".refill-"
FLUSH_S = 60.0
_ROWS = 2_000
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a job needs of a topic: the events of `source` that any value may still see, `reach_us` back from the newest
    (None: all). `going_on` is called now and then, at least every few seconds."""

    source: EventSource
    reach_us: int | None
    going_on: Callable[[], None] = lambda: None


def refill(bootstrap: str, home: Path, topic: str, wanted: Wanted, token: str, say: Say) -> str | None:
    """Produce what `topic` no longer holds of its landed history to `<topic>.refill-<token>`; the name of that topic.

    None when the topic still has its first records. What was never landed is named by `say`: it is lost. Raises
    DependencyError when the broker does not take it.
    """
    begins = begin_offsets(bootstrap, topic)
    if not any(begins.values()):
        return None
    history = History(home, topic)
    paths = history.paths()
    if not paths:
        _tell_gaps(history, begins, say)
        return None
    made = f"{topic}{SUFFIX}{token}"
    ensure_topics(bootstrap, [made], partitions=len(begins))
    say(f"putting landed records of {topic} on {made}")
    count, done = 0, dict.fromkeys(begins, 0)
    while done != begins:
        count += _produce(bootstrap, made, wanted, paths, done, begins)
        done, begins = begins, begin_offsets(bootstrap, topic)  # the topic may have forgotten more meanwhile
    _tell_gaps(history, begins, say)
    say(f"{count:,} landed records of {topic} are on {made}")
    return made


def tell_lost(bootstrap: str, home: Path, topics: Iterable[str], say: Say) -> None:
    """Name what topics have forgotten that is not landed either."""
    for topic in topics:
        _tell_gaps(History(home, topic), begin_offsets(bootstrap, topic), say)


def remove_refills(bootstrap: str, names: Collection[str], kept: Collection[str], now_us: int) -> None:
    """Delete the refill topics `names`, and those older than a day that are not `kept`: their jobs never came up."""
    found = [name for name in topic_names(bootstrap) if SUFFIX in name]
    old = [name for name in found if name not in kept and _made_us(name) < now_us - DAY]
    delete_topics(bootstrap, [name for name in found if name in names or name in old])


def _made_us(name: str) -> int:
    token = name.rpartition(SUFFIX)[2]
    return int(token) if token.isdecimal() else 0


def _tell_gaps(history: History, begins: Mapping[int, int], say: Say) -> None:
    for partition, begin in begins.items():
        for first, end in _gaps(history, partition, begin):
            place = f"{history.topic}[{partition}]: offsets {first} to {end - 1}"
            say(f"{place} are in neither the topic nor {history.root}: lost")


def as_record(source: EventSource, row: Mapping[str, Any]) -> bytes:
    """The JSON of a landed row: it decodes to the same columns and times."""
    unit = UNIT_US[source.time_unit]
    times = {field: row[name] for name, field in source.time_columns.items()}
    record = {name: row.get(name) for name in source.column_names}
    for field, us in times.items():
        record[field] = None if us is None else us // unit if us % unit == 0 else format_time(us)
    return json.dumps({name: value for name, value in record.items() if value is not None}, ensure_ascii=False).encode()


def _gaps(history: History, partition: int, begin: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of offsets before `begin` that no batch holds."""
    at = 0
    for first, end in sorted(batch.ranges.get(str(partition), (0, 0)) for batch in history.batches()):
        if first > at and at < begin:
            yield at, min(first, begin)
        at = max(at, end)
    if at < begin:
        yield at, begin


def _produce(
    bootstrap: str, topic: str, wanted: Wanted, paths: list[str], begins: Mapping[int, int], ends: Mapping[int, int]
) -> int:
    """Produce the landed records from `begins` on, before `ends`; says how many."""
    out, count = _Sender(producer(bootstrap), topic), 0
    for partition, end in ends.items():
        for row in _rows(paths, wanted, partition, (begins.get(partition, 0), end)):
            out.send(partition, as_record(wanted.source, row), row["_kafka_ts"])
            count += 1
            if count % _ROWS == 0:
                wanted.going_on()
    out.close()
    return count


def _rows(paths: list[str], wanted: Wanted, partition: int, span: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Landed rows of a partition within half-open offsets, in order; in parts, whatever the size of the history. They
    go back from the newest event that streams take: one that is ahead of its record is a dead letter to them."""
    globs = ", ".join(DUCKDB.text(f"{path}/**/*.parquet") for path in paths)
    landed = f"read_parquet([{globs}], union_by_name = true, hive_partitioning = false)"
    arrived = "" if wanted.source.arrival_time is None else ", coalesce(arrival_us, _kafka_ts * 1000) AS arrival_us"
    newest = f"SELECT MAX(ts_us) FROM {landed} WHERE ts_us <= _kafka_ts * 1000 + {MAX_AHEAD_S * SECOND}"
    recent = "" if wanted.reach_us is None else f" AND ts_us >= ({newest}) - {wanted.reach_us}"
    query = (
        f"SELECT * EXCLUDE (arrival_us){arrived} FROM {landed} WHERE _partition = {partition} "
        f"AND _offset >= {span[0]} AND _offset < {span[1]}{recent} ORDER BY _offset"
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
