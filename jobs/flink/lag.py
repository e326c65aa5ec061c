"""How far the Kafka sources of a running job have read, from their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from jobs.flink.rest import call
from jobs.kafka import Offsets

NOTHING_READ = -1
_BATCH = 40


def behind(url: str, job_id: str, targets: Offsets, committed: Offsets) -> str | None:
    """The first partition that some source has not read up to its target; None when all have.

    A topic may have several sources in one job: each has to be there. A source shows the offset of the last
    record that it has handed to the job; one that has read nothing since its start (an idle partition after
    a restore) counts as being at the group's committed offset.
    """
    positions = source_positions(url, job_id, targets)
    for (topic, partition), end in targets.items():
        if end <= 0:
            continue
        start = max(committed.get((topic, partition), 0), 0)
        read = [start if at == NOTHING_READ else at + 1 for at in positions.get((topic, partition), [])]
        if min(read, default=start) < end:
            return f"{topic}[{partition}] ({min(read, default=start)} of {end})"
    return None


def source_positions(url: str, job_id: str, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], list[int]]:
    """The last offset handed on, for each partition and each source that reads it (-1: none yet)."""
    suffixes = {
        f".KafkaSourceReader.topic.{topic}.partition.{number}.currentOffset": (topic, number)
        for topic, number in wanted
    }
    found: dict[tuple[str, int], list[int]] = {}
    for vertex in call(url, f"/jobs/{job_id}")["vertices"]:
        path = f"/jobs/{job_id}/vertices/{vertex['id']}/metrics"
        for name, value in _values(url, path, suffixes).items():
            place = next(place for suffix, place in suffixes.items() if name.endswith(suffix))
            found.setdefault(place, []).append(value)
    return found


def _values(url: str, path: str, suffixes: Mapping[str, object]) -> dict[str, int]:
    names = [metric["id"] for metric in call(url, path)]
    wanted = [name for name in names if name.endswith(tuple(suffixes))]
    values: dict[str, int] = {}
    for begin in range(0, len(wanted), _BATCH):
        query = ",".join(quote(name) for name in wanted[begin : begin + _BATCH])
        answer = call(url, f"{path}?get={query}")
        values |= {metric["id"]: int(metric["value"]) for metric in answer}
    return values
