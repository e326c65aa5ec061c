"""Kafka helpers against a real broker."""

from __future__ import annotations

import pytest

from featuredsl.errors import DependencyError, InputError
from featuredsl.settings import Settings
from jobs.kafka import Record, consume, ensure_topics, producer, read_all, topic_config
from jobs.kafka_offsets import end_offsets, readable_ends
from localstack.process import free_ports
from tests.support.stack import TestStack


@pytest.fixture
def settings(stack: TestStack) -> Settings:
    return stack.need("kafka")


def fill(settings: Settings, topic: str, count: int) -> None:
    out = producer(settings.kafka)
    for number in range(count):
        out.produce(topic, value=str(number), key=str(number))
    out.flush()


def numbers(records: list[Record]) -> list[int]:
    return sorted(int(record.value or b"-1") for record in records)


def test_topics_are_made_once_and_keep_old_records(settings: Settings) -> None:
    plain, latest = f"{settings.prefix}plain", f"{settings.prefix}latest"
    assert ensure_topics(settings.kafka, [plain, latest], partitions=3, compacted=[latest]) == [plain, latest]
    assert ensure_topics(settings.kafka, [plain, latest]) == []
    assert topic_config(settings.kafka, plain)["retention.ms"] == "-1"
    assert topic_config(settings.kafka, latest)["cleanup.policy"] == "compact"
    assert len(end_offsets(settings.kafka, [plain])) == 3


def test_bounded_read_ends_where_the_topic_ended(settings: Settings) -> None:
    topic = f"{settings.prefix}read"
    ensure_topics(settings.kafka, [topic])
    assert list(read_all(settings.kafka, topic)) == []
    fill(settings, topic, 500)
    ends = end_offsets(settings.kafka, [topic])
    assert sum(ends.values()) == 500
    fill(settings, topic, 100)
    assert numbers(list(read_all(settings.kafka, topic, until=ends))) == list(range(500))
    assert len(list(read_all(settings.kafka, topic, start=ends))) == 100


def test_bounded_read_over_transactions(settings: Settings) -> None:
    topic = f"{settings.prefix}transactions"
    ensure_topics(settings.kafka, [topic], partitions=1)
    out = producer(settings.kafka, **{"transactional.id": f"{topic}-writer"})
    out.init_transactions()
    for number, end in ((1, out.commit_transaction), (2, out.abort_transaction), (3, out.commit_transaction)):
        out.begin_transaction()
        out.produce(topic, str(number))
        out.flush()
        end()
    assert numbers(list(read_all(settings.kafka, topic))) == [1, 3]
    ends = end_offsets(settings.kafka, [topic])
    assert ends == {(topic, 0): 6}
    assert readable_ends(settings.kafka, ends) == {(topic, 0): 5}
    assert readable_ends(settings.kafka, {(topic, 0): 4}) == {(topic, 0): 1}
    for _ in range(20):
        out.begin_transaction()
        out.produce(topic, "never")
        out.flush()
        out.abort_transaction()
    assert readable_ends(settings.kafka, end_offsets(settings.kafka, [topic])) == {(topic, 0): 5}


def test_readable_ends_of_what_holds_no_record(settings: Settings) -> None:
    topic = f"{settings.prefix}nothing"
    ensure_topics(settings.kafka, [topic], partitions=1)
    assert readable_ends(settings.kafka, {(topic, 0): 0}) == {(topic, 0): 0}
    out = producer(settings.kafka, **{"transactional.id": f"{topic}-writer"})
    out.init_transactions()
    out.begin_transaction()
    out.produce(topic, "never")
    out.flush()
    out.abort_transaction()
    assert readable_ends(settings.kafka, {(topic, 0): 2}) == {(topic, 0): 0}


def test_a_group_goes_on_where_it_stopped(settings: Settings) -> None:
    topic = f"{settings.prefix}group"
    ensure_topics(settings.kafka, [topic])
    fill(settings, topic, 20)

    def take(count: int) -> list[int]:
        taken: list[int] = []
        for record in consume(settings.kafka, [topic], topic, lambda: len(taken) >= count):
            if record is not None:
                taken.append(int(record.value or b"-1"))
        return taken

    first = take(8)
    assert sorted(first + take(12)) == list(range(20))


def test_unknown_topic_names_what_exists(settings: Settings) -> None:
    ensure_topics(settings.kafka, [f"{settings.prefix}known"])
    with pytest.raises(InputError, match=rf"no topic 'nope' on .*{settings.prefix}known"):
        list(read_all(settings.kafka, "nope"))


def test_no_broker() -> None:
    (port,) = free_ports(1)
    with pytest.raises(DependencyError, match=f"Kafka at 127.0.0.1:{port} does not answer"):
        ensure_topics(f"127.0.0.1:{port}", ["x"])
