"""Bad input of `ccb train` and `ccb gate`: exit code 2 and one clear line."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from featuredsl.ccb.encode import training_text
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.files import write_records
from featuredsl.ccb.types import Example
from featuredsl.cli.main import run
from jobs.training.data import read_file
from tests.support.ccb_data import random_examples


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path: Path, examples: list[Example]) -> Path:
    path.write_text("".join(json.dumps(to_record(one)) + "\n" for one in examples), encoding="utf-8")
    return path


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return write(tmp_path / "examples.jsonl", random_examples(random.Random(1), 60, candidates=6, slots=1))


def encode(example: Example) -> str:
    """What the learner reads: a null feature is an absent one, and tables do not keep the difference."""
    return training_text(example)


def train(examples: Path, *more: str) -> list[str]:
    out = [] if "--out" in more else ["--out", str(examples.with_name("model"))]
    return ["ccb", "train", "--examples", str(examples), *out, *more]


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "Traceback" not in streams.err
    assert "internal error" not in streams.err
    (line,) = streams.err.splitlines()
    return line


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--vw", "--epsilon foo"), "Failed to convert foo to f"),
        (("--vw", "--epsilon 7"), "The value of epsilon must be in [0,1]"),
        (("--vw", '--quadratic "'), "cannot be read: no closing quotation"),
        (("--vw", "--bit_precision foo"), "--bit_precision foo is not supported"),
        (("--vw", "--bit_precision 0"), "--bit_precision 0 is not supported"),
        (("--vw", "--bit_precision 61"), "--bit_precision 61 is not supported"),
        (("--clip-p", "5"), "clip_p is 5.0"),
        (("--clip-p", "-0.1"), "clip_p is -0.1"),
        (("--clip-p", "nan"), "clip_p is nan"),
        (("--days", "-1"), "days is -1.0"),
        (("--days", "0"), "days is 0.0"),
        (("--days", "nan"), "days is nan"),
        (("--holdout", "nan"), "holdout is nan"),
        (("--min-count", "0"), "min_count is 0"),
        (("--seed", "-1"), "seed is -1"),
        (("--out", "/proc/xx"), "/proc/xx cannot be made: No such file or directory"),
        (("--out", "/proc/xx/model"), "/proc/xx/model cannot be made: No such file or directory"),
    ],
)
def test_options_that_make_no_sense(
    options: tuple[str, str], text: str, examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(train(examples, *options)) == 2
    assert text in one_line(capsys)
    assert [path.name for path in examples.parent.iterdir()] == ["examples.jsonl"]


def test_the_examples_are_not_overwritten(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = examples.read_bytes()
    assert run(train(examples, "--out", str(examples))) == 2
    assert "--out" in one_line(capsys)
    other = examples.with_name("other")
    other.write_text("kept")
    assert run(train(examples, "--out", str(other))) == 2
    assert f"{other} is a file; give a new directory" in one_line(capsys)
    assert (examples.read_bytes(), other.read_text()) == (before, "kept")


def test_examples_without_any_cost_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = [
        replace(one, labels=tuple(replace(label, cost=0.0) for label in one.labels))
        for one in random_examples(random.Random(1), 40, candidates=6, slots=1)
    ]
    assert run(train(write(tmp_path / "zero.jsonl", without))) == 2
    assert "only zero weights" in one_line(capsys)


@pytest.mark.parametrize(("text", "reasons"), [("", "none, the file is empty"), ("CLICKS", "2 missing_field")])
def test_a_file_without_examples_cannot_be_a_gate(
    text: str, reasons: str, examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(train(examples)) == 0
    capsys.readouterr()
    clicks = tmp_path / "clicks.jsonl"
    click = json.dumps({"event_id": "e1", "slot_id": "a", "ts": 1_760_000_000_000}) + "\n"
    clicks.write_text(click * 2 if text else "")
    gate = ["ccb", "gate", "--candidate", str(tmp_path / "model"), "--json", "--examples"]
    assert run([*gate, str(clicks)]) == 2
    assert f"{clicks} has no ccb example; rejected lines: {reasons}" in one_line(capsys)
    with examples.open("a") as file:
        file.write(click)
    assert run([*gate, str(examples)]) == 1
    assert f"warning: {examples}: rejected lines: 1 missing_field" in capsys.readouterr().err
    for alpha in ("2", "0", "nan"):
        assert run([*gate, str(examples), "--alpha", alpha]) == 2
        assert "level of an interval" in one_line(capsys)


def test_examples_are_read_by_suffix(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in examples.read_text().splitlines()]
    expected = read_file(examples)
    for suffix in (".csv", ".parquet"):
        other = examples.with_suffix(suffix)
        write_records(other, rows)
        found = read_file(other)
        assert [encode(one) for one in found.examples] == [encode(one) for one in expected.examples]
        assert found.rejected == {}
    odd = examples.with_suffix(".txt")
    odd.write_text("x")
    assert run(train(odd)) == 2
    assert "not in '.txt'" in one_line(capsys)
