"""Dead-letter topics and files: reading them, and sending their records again, each at most once.

What was replayed is kept in a compacted topic `<topic>.dlq.replayed`, keyed by the place of the refused record: offsets
of a consumer group could not say it, because a replay takes single records out of the middle, and they are forgotten
after a week. A record is marked `sending` (with the end of the source topic) before it goes out, and `sent` after the
broker took it. A replay that was interrupted between the two is cleared up by the next one: it looks for the header of
the record in the source topic from that end on, so that nothing is sent twice and nothing is forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from confluent_kafka import KafkaException, Message, Producer

from featuredsl.errors import DependencyError, InputError, unknown
from jobs.kafka import ensure_topics, producer, read_all, topic_names
from jobs.kafka_offsets import Offsets, end_offsets
from schemas.dead_letters import REPLAYED_HEADER, DeadLetter, read_letter
from schemas.records import RecordError
from schemas.topics import DEAD_LETTER_SUFFIX, dead_letter

REPLAYED_SUFFIX = ".replayed"
SENDING, SENT = "sending", "sent"
BATCH = 200
FLUSH_S = 60.0
ANY_PARTITION = -1
Letters = Iterable[DeadLetter | None]


def letter_topics(bootstrap: str, prefix: str, names: Sequence[str] = ()) -> list[str]:
    """Dead-letter topics: those of the named topics, else all whose names begin with `prefix`.

    A name may be given with or without the prefix and `.dlq`. Raises InputError that lists what exists.
    """
    known = [name for name in topic_names(bootstrap) if name.startswith(prefix) and name.endswith(DEAD_LETTER_SUFFIX)]
    if not names:
        return known
    return list(dict.fromkeys(_letter_topic(name, prefix, known) for name in names))


def _letter_topic(name: str, prefix: str, known: Sequence[str]) -> str:
    full = name if name.endswith(DEAD_LETTER_SUFFIX) else dead_letter(name)
    for candidate in (full, prefix + full):
        if candidate in known:
            return candidate
    raise InputError(unknown("dead-letter topic", full, f"Kafka under the prefix {prefix!r}", tuple(known)))


def letters_of_topics(bootstrap: str, topics: Iterable[str], until: Mapping[str, Offsets] | None = None) -> Letters:
    """The dead letters of topics up to their ends now (or `until`); None for a record that is none."""
    for topic in topics:
        for record in read_all(bootstrap, topic, until=(until or {}).get(topic)):
            yield _letter(record.value, record.timestamp_ms)


def letters_of_file(path: Path) -> Letters:
    """The dead letters of a JSON Lines file, as `history --dead-letter` writes it."""
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield _letter(line, None)


def _letter(value: bytes | None, rejected_ms: int | None) -> DeadLetter | None:
    try:
        return read_letter(value, rejected_ms)
    except RecordError:
        return None


@dataclass(slots=True)
class ReplayPlan:
    """Which letters of one source topic to send, which were sent before, which cannot be sent and why."""

    topic: str
    send: set[str] = field(default_factory=set)
    already: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)


def plan_replay(letters: Letters, replayed: Callable[[str], set[str]], again: bool) -> dict[str, ReplayPlan]:
    """A plan for each source topic of the letters. `replayed(topic)` gives the places that were sent before."""
    plans: dict[str, ReplayPlan] = {}
    before: dict[str, set[str]] = {}
    for letter in letters:
        if letter is None:
            continue
        plan = plans.setdefault(letter.topic, ReplayPlan(letter.topic))
        if letter.topic not in before:
            before[letter.topic] = replayed(letter.topic)
        if letter.refusal is not None:
            plan.refused[letter.place] = letter.refusal
        elif letter.place in before[letter.topic] and not again:
            plan.already.add(letter.place)
        else:
            plan.send.add(letter.place)
    return plans


@dataclass(slots=True)
class Replayer:
    """Sends letters to their source topics and keeps the record of it."""

    bootstrap: str
    partitions: dict[str, Offsets] = field(default_factory=dict)

    def replayed(self, topic: str) -> set[str]:
        """Places of a topic that were sent; interrupted replays are looked up in the topic itself."""
        name = marker_topic(topic)
        if name not in topic_names(self.bootstrap):
            return set()
        marks = {(r.key or b"").decode(): json.loads(r.value or b"{}") for r in read_all(self.bootstrap, name)}
        open_ends = {place: mark["ends"] for place, mark in marks.items() if mark.get("state") == SENDING}
        sent = {place for place, mark in marks.items() if mark.get("state") == SENT}
        return sent | self._arrived(topic, open_ends)

    def send(self, topic: str, letters: Iterable[DeadLetter], report: Callable[[int], None]) -> int:
        """Send letters of one topic to the partitions that they came from; `report` gets how many were taken.

        Raises DependencyError when the broker does not take one.
        """
        ensure_topics(self.bootstrap, [], compacted=[marker_topic(topic)])
        ends = {str(partition): end for (_, partition), end in self._ends(topic).items()}
        out, total, source = producer(self.bootstrap), 0, iter(letters)
        while batch := list(islice(source, BATCH)):
            self._mark(out, topic, batch, {"state": SENDING, "ends": ends})
            for letter in batch:
                self._produce(out, topic, letter, len(ends))
            _flush(out, topic)
            self._mark(out, topic, batch, {"state": SENT})
            total += len(batch)
            report(len(batch))
        return total

    def _ends(self, topic: str) -> Offsets:
        if topic not in self.partitions:
            self.partitions[topic] = end_offsets(self.bootstrap, [topic])
        return self.partitions[topic]

    def _produce(self, out: Producer, topic: str, letter: DeadLetter, partitions: int) -> None:
        came_from = ANY_PARTITION if letter.partition is None else letter.partition
        partition = came_from if came_from < partitions else ANY_PARTITION
        headers: list[tuple[str, str | bytes | None]] = [(REPLAYED_HEADER, letter.place.encode())]
        try:
            out.produce(topic, letter.payload, headers=headers, on_delivery=_taken, partition=partition)
        except KafkaException as error:
            msg = f"{topic} does not take the record {letter.place}: {error.args[0].str()}"
            raise DependencyError(msg) from error

    def _mark(self, out: Producer, topic: str, batch: Iterable[DeadLetter], mark: Mapping[str, object]) -> None:
        value = json.dumps({**mark, "at": time.time_ns() // 1_000_000}).encode()
        for letter in batch:
            out.produce(marker_topic(topic), value, key=letter.place.encode(), on_delivery=_taken)
        _flush(out, marker_topic(topic))

    def _arrived(self, topic: str, open_ends: Mapping[str, Mapping[str, int]]) -> set[str]:
        if not open_ends:
            return set()
        start: dict[tuple[str, int], int] = {}
        for ends in open_ends.values():
            for partition, end in ends.items():
                place = (topic, int(partition))
                start[place] = min(end, start.get(place, end))
        headers = (header for record in read_all(self.bootstrap, topic, start=start) for header in record.headers)
        found = {(value or b"").decode("utf-8", "replace") for name, value in headers if name == REPLAYED_HEADER}
        return found & set(open_ends)


def marker_topic(topic: str) -> str:
    """The compacted topic that tells which dead letters of a topic were sent again."""
    return dead_letter(topic) + REPLAYED_SUFFIX


def _taken(error: object, message: Message) -> None:
    """Delivery report: an error reaches `flush` through this exception."""
    if error is not None:
        msg = f"{message.topic()} did not take a record: {error}"
        raise DependencyError(msg)


def _flush(out: Producer, topic: str) -> None:
    left = out.flush(FLUSH_S)
    if left:
        msg = f"{topic} did not take {left} records within {FLUSH_S:.0f} s; run the same replay again to go on"
        raise DependencyError(msg)


def selected(letters: Letters, plan: ReplayPlan) -> Iterator[DeadLetter]:
    """The letters that a plan sends, each place once."""
    left = set(plan.send)
    for letter in letters:
        if letter is not None and letter.topic == plan.topic and letter.place in left:
            left.discard(letter.place)
            yield letter
