"""Training end to end on small data: what is learnt, what is refused, what is repeatable."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from featuredsl.ccb.encode import training_text
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.preprocess import build_vocabulary
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Example
from featuredsl.errors import FeatureError, InputError, UnsupportedError
from jobs.training import data
from jobs.training.train import TrainConfig, train, vocabulary
from tests.support.ccb_data import random_examples

CONFIG = TrainConfig("shop", "-q CA --epsilon 0.2", holdout=0.25)


def _lines(examples: list[Example]) -> list[bytes]:
    return [json.dumps(to_record(example)).encode() for example in examples]


def test_training_learns_and_repeats_itself(tmp_path: Path) -> None:
    examples = random_examples(random.Random(1), 400, candidates=6, slots=1)
    lines = _lines(examples)
    first = train(data.collect(lines), CONFIG, tmp_path / "first")
    second = train(data.collect(reversed(lines)), CONFIG, tmp_path / "second")
    assert first.manifest.document == second.manifest.document
    assert first.manifest.document["data"]["training"] == 300
    assert [example.event_id for example in first.holdout] == [f"e{number}" for number in range(300, 400)]
    assert not list(tmp_path.glob(".training-*"))
    scorer = CcbScorer.load(tmp_path / "first")
    scorer.verify()
    liked = next(example for example in first.holdout if example.request.context["user"] == "U1")
    assert scorer.decide(replace(liked.request, seed="s")).slots[0].ranking
    costs = dict(zip((a.action_id for a in liked.request.candidates), scorer.costs(liked.request)[0], strict=True))
    assert costs["0"] < min(cost for name, cost in costs.items() if not name.isdigit()) - 0.05


def test_a_dead_learner_is_an_error(tmp_path: Path) -> None:
    examples = random_examples(random.Random(1), 40, candidates=4, slots=1)
    flat = [replace(item, labels=(replace(item.labels[0], cost=0.0),)) for item in examples]
    with pytest.raises(FeatureError, match="only zero weights"):
        train(data.collect(_lines(flat)), CONFIG, tmp_path / "dead")
    assert not (tmp_path / "dead").exists()


def test_bad_records_are_counted_not_learnt() -> None:
    good, other = random_examples(random.Random(2), 2, candidates=4, slots=2)
    record: dict[str, Any] = to_record(good)

    def changed(**slot: object) -> bytes:
        return json.dumps({**record, "slots": [{**record["slots"][0], **slot}, record["slots"][1]]}).encode()

    lines = [
        json.dumps(record).encode(),
        json.dumps(to_record(other)).encode(),
        json.dumps(record).encode(),
        b'{"heartbeat": true, "ts": 1700000000000}',
        b"{",
        b"[]",
        b"\xff",
        changed(probability=0.0),
        changed(probability=1.5),
        changed(probability="abc"),
        changed(chosen="nobody"),
        changed(chosen=record["slots"][1]["chosen"]),
        changed(cost=1e30),
        json.dumps({**record, "slots": record["slots"][:1]}).encode(),
        json.dumps({**record, "weight": -1}).encode(),
        json.dumps({key: value for key, value in record.items() if key not in ("decision", "vw")}).encode(),
        json.dumps({**record, "ts": 17}).encode(),
    ]
    found = data.collect(lines)
    assert [example.event_id for example in found.examples] == [good.event_id, other.event_id]
    assert found.rejected == {
        "duplicate": 1,
        "bad_json": 2,
        "bad_type": 2,
        "bad_probability": 2,
        "unknown_action": 1,
        "repeated_action": 1,
        "bad_cost": 1,
        "bad_label": 1,
        "out_of_range": 1,
        "missing_field": 1,
        "bad_time": 1,
    }


def test_text_alone_is_enough() -> None:
    examples = random_examples(random.Random(2), 5, candidates=4, slots=2)
    bare = [{key: value for key, value in to_record(one).items() if key != "decision"} for one in examples]
    found = data.collect(json.dumps(record).encode() for record in bare)
    assert [one.labels for one in found.examples] == [one.labels for one in examples]
    assert [training_text(one) for one in found.examples] == [training_text(one) for one in examples]


def test_split_and_window_go_by_time() -> None:
    examples = tuple(replace(item, ts_us=number // 2) for number, item in enumerate(_many(10)))
    split = data.split_by_time(examples, 0.5)
    assert (len(split.training), len(split.holdout)) == (6, 4)
    days = tuple(replace(item, ts_us=number * data.DAY_US) for number, item in enumerate(_many(10)))
    assert len(data.last_days(days, 3)) == 4
    assert data.last_days(days, None) == days


def test_vocabulary_equals_the_plain_count() -> None:
    examples = data.collect(_lines(random_examples(random.Random(4), 30, candidates=5, slots=2))).examples
    for least in (1, 3, 9):
        assert vocabulary(examples, least) == build_vocabulary((item.request for item in examples), least)


@pytest.mark.parametrize("arguments", ["--no_predict", "-f x", "--bag 3", "CA", "--data x", "--cb_type dr"])
def test_options_that_training_must_not_take(arguments: str) -> None:
    with pytest.raises(UnsupportedError):
        TrainConfig("shop", arguments)


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no example to train on"):
        train(data.collect([b"{"]), CONFIG, tmp_path / "none")
    with pytest.raises(InputError, match="holdout"):
        replace(CONFIG, holdout=1.0)


def _many(count: int) -> list[Example]:
    return random_examples(random.Random(3), count, candidates=3, slots=1)
