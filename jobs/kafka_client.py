"""Clients of Kafka (confluent-kafka): their options, what a broker holds, and errors that say which broker."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient

from featuredsl.errors import DependencyError

ADMIN_TIMEOUT_S = 15.0
POLL_S = 0.2
MAX_MESSAGE_BYTES = 8 * 1024 * 1024


def admin(bootstrap: str) -> AdminClient:
    """A client for questions about topics; keep it in a variable until its futures have ended."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})


def metadata(client: AdminClient, bootstrap: str) -> dict[str, int]:
    """The number of partitions of every topic."""
    try:
        topics = client.list_topics(timeout=ADMIN_TIMEOUT_S).topics
    except KafkaException as error:
        raise unreachable(bootstrap, error) from error
    return {name: len(topic.partitions) for name, topic in topics.items()}


def consumer_options(bootstrap: str, group: str) -> dict[str, object]:
    """Options of a reader of committed records that commits by hand."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.message.max.bytes": MAX_MESSAGE_BYTES,
        "fetch.wait.max.ms": 50,
        "log_level": 2,
    }


def at_end(message: Message) -> bool:
    """True for the end-of-partition event: it comes even where the last offsets hold no readable record."""
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def failed(message: Message, bootstrap: str) -> bool:
    """False for a record; True for a transient client event; raises for an error that will not pass."""
    error = message.error()
    if error is None:
        return False
    if error.fatal() or error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._ALL_BROKERS_DOWN):
        raise unreachable(bootstrap, KafkaException(error))
    return True


def unreachable(bootstrap: str, error: KafkaException) -> DependencyError:
    """The error of a broker that does not answer."""
    return DependencyError(f"Kafka at {bootstrap} does not answer: {error.args[0].str()}")
