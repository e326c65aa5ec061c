"""`featuredsl ccb train | gate | score` as a person runs them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from featuredsl.ccb.examples import to_record
from featuredsl.cli.main import run
from tests.support.ccb_data import random_examples

REQUEST = {
    "context": {"user": "U1", "hour": 3},
    "candidates": [{"action_id": "0", "features": {}}, {"action_id": "item 1"}, {"action_id": "item 2"}],
    "slots": [{"slot_id": "a", "exclude": ["item 2"]}, {"slot_id": "b"}],
    "seed": "r1",
}


def test_train_score_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples, model, request = tmp_path / "examples.jsonl", tmp_path / "model", tmp_path / "request.json"
    lines = [json.dumps(to_record(one)) for one in random_examples(random.Random(1), 600, candidates=6, slots=1)]
    examples.write_text("\n".join([*lines, "{"]), encoding="utf-8")
    trained = ["ccb", "train", "--examples", str(examples), "--out", str(model), "--holdout", "0.5", "--json"]
    assert run(trained) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["data"]["rejected"] == {"bad_json": 1}
    assert run(trained) == 2
    assert "is not empty" in capsys.readouterr().err

    request.write_text(json.dumps(REQUEST), encoding="utf-8")
    assert run(["ccb", "score", "--model", str(model), "--request", str(request), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["slots"]
    assert {entry["action_id"] for entry in first["ranking"]} == {"0", "item 1"}
    assert first["chosen"] == first["ranking"][0]["action_id"]
    assert first["chosen"] not in {entry["action_id"] for entry in second["ranking"]}
    for slot in (first, second):
        assert sum(entry["probability"] for entry in slot["ranking"]) == pytest.approx(1, abs=1e-6)

    gate = ["ccb", "gate", "--examples", str(examples), "--candidate", str(model), "--json"]
    assert run(gate) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["outcome"] == "improved"
    assert result["metrics"]["decisions"] == 300
    assert run([*gate, "--champion", str(model)]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "equivalent"


def test_a_refused_candidate_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples, model = tmp_path / "examples.jsonl", tmp_path / "model"
    lines = [json.dumps(to_record(one)) for one in random_examples(random.Random(1), 200, candidates=6, slots=1)]
    examples.write_text("\n".join(lines), encoding="utf-8")
    assert run(["ccb", "train", "--examples", str(examples), "--out", str(model)]) == 0
    capsys.readouterr()
    assert run(["ccb", "gate", "--examples", str(examples), "--candidate", str(model), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["outcome"] == "insufficient"
    assert "the gate refuses" in captured.err


@pytest.mark.parametrize("text", ["{", "[]", '{"context": {}}', json.dumps({**REQUEST, "candidates": []})])
def test_a_bad_request_is_bad_input(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    assert run(["ccb", "score", "--model", str(tmp_path), "--request", str(tmp_path / "r.json")]) == 2
    assert "is not a decision request" in capsys.readouterr().err
