"""The exported scorer against Vowpal Wabbit itself: costs, probabilities, sampled actions, rankings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featuredsl.ccb import explore
from featuredsl.ccb.encode import encode_example, training_text
from featuredsl.ccb.preprocess import Preprocessor, build_vocabulary
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import DecisionRequest
from featuredsl.errors import CheckFailed, FeatureError, InputError, UnsupportedError
from jobs.training import options, vw
from jobs.training.export import ExportSpec, export
from tests.support.ccb_data import random_examples, random_request

OPTION_SETS = (
    "--epsilon 0.2",
    "--epsilon 0.2 -q AC -q CA -b 14",
    "--softmax --lambda 5 -q CA -q SA --cubic CAS",
    "--softmax --lambda 5 --epsilon 0.2 --noconstant -q CA --hash all",
    "--squarecb --gamma_scale 1000 --epsilon 0.1 --ignore_linear C -q CA --hash_seed 42",
    "--epsilon 0.1 -q :: --l2 1e-3",
    "--epsilon 0.1 -q AA --cubic CCA --first_only --l1 1e-4",
)
BASE = "--ccb_explore_adf --cb_type mtr --clip_p 0.01 --random_seed 1"


def _train(folder: Path, arguments: str) -> tuple[CcbScorer, list[DecisionRequest], list[list[dict[str, Any]]]]:
    rng = random.Random(3)
    examples = random_examples(rng, 200, candidates=6, slots=3)
    pre = Preprocessor(build_vocabulary((example.request for example in examples), 3))
    text = "\n\n".join(training_text(example, pre) for example in examples)
    (folder / "data.txt").write_text(text + "\n\n", encoding="utf-8")
    vw.train(f"{BASE} {arguments}", folder / "data.txt", folder / "model.vw")
    requests = [random_request(rng, 6, 3, f"req {number}") for number in range(40)]
    export(folder, ExportSpec("test", pre, requests[:3]))
    answers = vw.predict(folder / "model.vw", [encode_example(request, None, pre) for request in requests])
    return CcbScorer.load(folder), requests, answers


@pytest.mark.parametrize("arguments", OPTION_SETS)
def test_scorer_repeats_vowpal_wabbit(tmp_path: Path, arguments: str) -> None:
    scorer, requests, answers = _train(tmp_path, arguments)
    scorer.verify()
    errors, chances, sizes = [], [], []
    for request, expected in zip(requests, answers, strict=True):
        for slot, wanted in zip(scorer.decide(request).slots, expected, strict=True):
            names = [request.candidates[position].action_id for position, _ in wanted["ranking"]]
            assert [entry.action_id for entry in slot.ranking] == names
            assert slot.chosen == (names[0] if names else None)
            errors += [abs(mine.score - cost) for mine, cost in zip(slot.ranking, wanted["costs"], strict=True)]
            sizes += [abs(cost) for cost in wanted["costs"]]
            ranked = zip(slot.ranking, wanted["ranking"], strict=True)
            chances += [abs(mine.probability - chance) for mine, (_, chance) in ranked]
            assert sum(entry.probability for entry in slot.ranking) == pytest.approx(1.0, abs=1e-5) or not names
    assert len(errors) > 300
    assert max(errors) <= 1e-6 * max(sizes)
    assert max(chances) <= 1e-5
    rules_match_given_the_same_costs(scorer.exploration, answers)


def rules_match_given_the_same_costs(rule: explore.Exploration, answers: list[list[dict[str, Any]]]) -> None:
    worst = 0.0
    for slot in (slot for slots in answers for slot in slots if slot["ranking"]):
        positions = np.array([position for position, _ in slot["ranking"]])
        costs = np.array(slot["costs"], dtype=np.float32)
        chances = np.array([chance for _, chance in slot["ranking"]], dtype=np.float32)
        order = np.lexsort((positions, costs))
        mine = explore.normalised(explore.probabilities(rule, costs[order]))
        worst = max(worst, float(np.abs(mine - chances[order]).max()))
    assert worst <= 2.4e-7


def test_batches_answer_as_single_requests(tmp_path: Path) -> None:
    scorer, requests, _ = _train(tmp_path, "--epsilon 0.2 -q CA")
    rng = random.Random(5)
    mixed = [random_request(rng, 2 + number % 9, 1 + number % 2, f"m{number}") for number in range(20)]
    assert scorer.decide_many([*requests, *mixed]) == [scorer.decide(request) for request in [*requests, *mixed]]


def test_damage_is_refused(tmp_path: Path) -> None:
    scorer, _, _ = _train(tmp_path, "--epsilon 0.2 -q CA")
    golden = tmp_path / "golden.json"
    content = golden.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no provider 'XExecutionProvider'"):
        CcbScorer.load(tmp_path, providers=("XExecutionProvider",))
    golden.write_text(content.replace('"context"', '"context" '), encoding="utf-8")
    with pytest.raises(InputError, match="SHA-256"):
        CcbScorer.load(tmp_path)
    golden.write_text(content.replace('"hour": ', '"hour": 1'), encoding="utf-8")
    with pytest.raises(CheckFailed, match="cost of"):
        scorer.verify()


@pytest.mark.parametrize(
    "arguments",
    ["--cb_type dr", "--bag 3", "--coin", "--interactions CASA", "-q XA", "--loss_function logistic"],
)
def test_what_cannot_be_exported_is_refused(arguments: str) -> None:
    with pytest.raises(UnsupportedError):
        _read_options(arguments.replace("-q ", "--quadratic "))


def _read_options(arguments: str) -> None:
    parsed = options.parse(arguments)
    options.check(parsed)
    options.feature_space(parsed, ["CCB: has_seen_multi_slot_example = true"])


def test_crash_of_the_learner_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("ccb action |A a\nccb action |A b\nccb slot 0:0:0.5 |S s\n\n", encoding="utf-8")
    with pytest.raises(FeatureError, match=r"Vowpal Wabbit \(train\) (was killed by|ended with)"):
        vw.train(BASE, tmp_path / "data.txt", tmp_path / "model.vw")
