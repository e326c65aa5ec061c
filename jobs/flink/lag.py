"""How far the Kafka sources of a running job have read, from their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from jobs.flink.rest import call
from jobs.kafka_offsets import Offsets

NOTHING_READ = -1
_BATCH = 40


def behind(url: str, job_id: str, targets: Offsets, committed: Offsets) -> str | None:
    """The first partition that some source has not read up to its target; None when all have.

    A topic may have several sources in one job: each has to be there. A source shows the offset of the last
    record that it has handed to the job; one that has read nothing since its start (an idle partition after
    a restore) counts as being at the group's committed offset.
    """
    reached = read_up_to(url, job_id, targets, committed)
    for (topic, partition), end in targets.items():
        if reached[topic, partition] < end:
            return f"{topic}[{partition}] ({reached[topic, partition]} of {end})"
    return None


def read_up_to(url: str, job_id: str, targets: Offsets, committed: Offsets) -> dict[tuple[str, int], int]:
    """The offset of each partition before which every source of the job has handed on all records."""
    positions = source_positions(url, job_id, targets)
    reached: dict[tuple[str, int], int] = {}
    for place, end in targets.items():
        start = max(committed.get(place, 0), 0)
        read = [start if at == NOTHING_READ else at + 1 for at in positions.get(place, [])]
        reached[place] = max(min(read, default=start), 0) if end > 0 else 0
    return reached


def summed(url: str, job_id: str, names: Sequence[str]) -> dict[str, int]:
    """Counters of a job by their last name, summed over its operators and subtasks; those of this attempt only."""
    suffixes = {f".{name}": name for name in names}
    total = dict.fromkeys(names, 0)
    for vertex in call(url, f"/jobs/{job_id}")["vertices"]:
        for name, value in _values(url, f"/jobs/{job_id}/vertices/{vertex['id']}/metrics", suffixes).items():
            total[name.rpartition(".")[2]] += value
    return total


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
