"""Options of the Kafka source tables of jobs whose results may wait a moment: join and drift."""

from __future__ import annotations

from collections.abc import Sequence

# A fetch waits until it is worth its cost: these jobs answer after hours of event time, not after milliseconds.
FETCH_MIN_BYTES = 65_536
FETCH_MAX_WAIT_MS = 200


def source_options(kafka: str, group_id: str, topic: str, required: Sequence[str]) -> dict[str, str]:
    """Committed records of a topic from its beginning, read by our JSON format; `required` are its needed fields."""
    return {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka,
        "properties.group.id": group_id,
        "properties.isolation.level": "read_committed",
        "properties.fetch.min.bytes": str(FETCH_MIN_BYTES),
        "properties.fetch.max.wait.ms": str(FETCH_MAX_WAIT_MS),
        "scan.startup.mode": "earliest-offset",
        "format": "featuredsl-json",
        "featuredsl-json.required": ";".join(required),
    }
