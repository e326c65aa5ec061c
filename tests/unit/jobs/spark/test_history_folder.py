"""The landed batches of a topic: what is pending, what counts as landed, who may write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from featuredsl.errors import DependencyError, InputError, StateError
from featuredsl.sources import EventSource
from jobs.landed import Batch, History
from jobs.spark.landing import rows_schema


def landed(history: History, ranges: dict[str, tuple[int, int]], rows: int = 1) -> Batch:
    """Commit a batch with a data folder."""
    batch = Batch(history.topic, ranges, rows, 0)
    staging = history.data / f"{batch.name}.staging"
    staging.mkdir()
    history.commit(batch, staging)
    return batch


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path, "clicks")
    with history.exclusive():
        return history


def test_pending_starts_after_the_landed_offsets(history: History) -> None:
    assert history.pending({0: 5, 1: 0}, {}) == {0: (0, 5)}
    landed(history, {"0": (0, 5)})
    landed(history, {"0": (5, 8), "1": (0, 2)})
    assert history.landed() == {0: 8, 1: 2}
    assert history.pending({0: 8, 1: 2}, {}) == {}
    assert history.pending({0: 9, 1: 2, 2: 1}, {}) == {0: (8, 9), 2: (0, 1)}


def test_batches_are_read_back_in_order(history: History) -> None:
    second = {"0": (5, 8)}
    landed(history, second)
    first = landed(history, {"0": (0, 5)}, rows=0)
    assert [batch.ranges for batch in history.batches()] == [first.ranges, second]
    assert [Path(path).name for path in history.paths()] == ["0.5-8"]


def test_data_without_a_manifest_is_no_history_and_is_removed(history: History) -> None:
    landed(history, {"0": (0, 5)})
    for leftover in ("0.5-9", "0.5-7.staging"):
        (history.data / leftover).mkdir()
    assert len(history.paths()) == 1
    with history.exclusive():
        assert [path.name for path in history.data.iterdir()] == ["0.0-5"]


def test_one_writer_at_a_time(history: History) -> None:
    other = History(history.root.parents[1], "clicks")
    with history.exclusive(), pytest.raises(DependencyError, match="another batch run"), other.exclusive():
        pass


def test_recreated_topic_is_refused(history: History) -> None:
    landed(history, {"0": (0, 5)})
    with pytest.raises(StateError, match="recreated"):
        history.pending({0: 4}, {})


def test_manifest_of_another_version_is_refused(history: History) -> None:
    batch = landed(history, {"0": (0, 5)})
    path = history.manifests / f"{batch.name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(StateError, match="manifest version 2"):
        history.batches()


def test_name_of_many_partitions_fits_a_file_system(history: History) -> None:
    batch = Batch("clicks", {str(p): (10**9, 2 * 10**9) for p in range(64)}, 1, 0)
    assert len(batch.name) <= 200


def test_reserved_column() -> None:
    source = EventSource("e", event_time="ts", schema={"event_date": str})
    with pytest.raises(InputError, match="reserved"):
        rows_schema(source)
