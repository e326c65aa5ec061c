"""The conversion of the Open Bandit sample; expected numbers are counted from the published files."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from examples.open_bandit.dataset import Dataset, load_dataset, segment_of
from featuredsl.errors import InputError


def test_all_decisions_and_items_are_there(dataset: Dataset) -> None:
    assert Counter(one.policy for one in dataset.decisions) == {"random": 10_000, "bts": 10_000}
    assert Counter(one.policy for one in dataset.decisions if one.clicked) == {"random": 38, "bts": 42}
    assert [item.action_id for item in dataset.items] == [str(number) for number in range(80)]
    assert {one.position for one in dataset.decisions} == {"1", "2", "3"}


def test_event_ids_are_unique_and_name_policy_and_row(dataset: Dataset) -> None:
    ids = {one.event_id for one in dataset.decisions}
    assert len(ids) == 20_000
    assert {"random-0", "random-9999", "bts-0", "bts-9999"} <= ids


def test_segments_are_the_combinations_of_user_features(dataset: Dataset) -> None:
    per_policy = {
        policy: len({one.segment for one in dataset.decisions if one.policy == policy}) for policy in ("random", "bts")
    }
    assert per_policy == {"random": 240, "bts": 253}
    assert len({one.segment for one in dataset.decisions}) == len({one.user for one in dataset.decisions}) == 280


def test_a_segment_name_is_stable() -> None:
    assert segment_of(("a", "b", "c", "d")) == "sb54856b7"  # sha256sum of "a|b|c|d"


def test_logged_probabilities_are_those_of_one_slot(dataset: Dataset) -> None:
    assert {one.probability for one in dataset.decisions if one.policy == "random"} == {1 / 80}
    assert all(0 < one.probability < 1 for one in dataset.decisions)
    weights = [1 / 80 / one.probability for one in dataset.decisions if one.policy == "random"]
    assert sum(weights) / len(weights) == pytest.approx(1.0)


def test_decisions_are_in_order_of_time_policy_row(dataset: Dataset) -> None:
    def key(event_id: str, ts_us: int) -> tuple[int, str, int]:
        policy, row = event_id.split("-")
        return ts_us, policy, int(row)

    keys = [key(one.event_id, one.ts_us) for one in dataset.decisions]
    assert all(a < b for a, b in pairwise(keys))


def test_the_first_row_is_read_as_published(dataset: Dataset, dataset_path: Path) -> None:
    with (dataset_path / "bts" / "all" / "all.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    first = next(one for one in dataset.decisions if one.event_id == "bts-0")
    assert row["timestamp"] == "2019-11-24 00:00:17.004101+00:00"
    assert first.ts_us == 1_574_553_617_004_101
    assert (first.item_id, first.position) == (row["item_id"], row["position"])
    assert first.probability == float(row["propensity_score"])
    assert first.user == tuple(row[f"user_feature_{i}"][:8] for i in range(4))


@pytest.mark.parametrize(
    ("header", "line", "hint"),
    [
        ("timestamp,item_id", "2019-11-24 00:00:17+00:00,1", "user_feature_0"),
        (None, None, "not found"),
    ],
)
def test_files_that_are_not_the_data_set_are_refused(
    tmp_path: Path, header: str | None, line: str | None, hint: str
) -> None:
    if header is not None:
        folder = tmp_path / "random" / "all"
        folder.mkdir(parents=True)
        (folder / "all.csv").write_text(f"{header}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=hint):
        load_dataset(tmp_path)
