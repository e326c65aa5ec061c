"""`featuredsl init`: a project whose tests pass, and that never overwrites."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from featuredsl.cli.starting import PLACES, init
from featuredsl.errors import InputError
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions

ROOT = Path(__file__).parents[3]


def test_the_project_works(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    done = CliRunner().invoke(init, [str(folder)])
    assert done.exit_code == 0, done.output
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == sorted(PLACES.values())
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout


def test_its_training_set_by_hand(tmp_path: Path) -> None:
    CliRunner().invoke(init, [str(tmp_path)])
    labels = read_labels(tmp_path / "data/labels.csv", "ms")
    groups = load_definitions(tmp_path / "definitions.py")
    found = build(HistoryRequest(groups, {"clicks": tmp_path / "data/clicks.jsonl"}, labels))
    names = ("clicks_1h", "clicks_24h", "spend_jp", "last_item", "price_share")
    assert [[row[f"user_clicks__{name}"] for name in names] for row in found.rows] == [
        [2, 2, 20.0, "shoes", 0.5],
        [1, 3, 32.5, "scarf", 0.4],
        [0, 1, 20.0, "shirt", 0.25],
    ]
    assert [row["bought"] for row in csv.DictReader((tmp_path / "data/labels.csv").open())] == ["0", "1", "0"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"README\.md exists already"):
        CliRunner().invoke(init, [str(tmp_path)], catch_exceptions=False)
    assert [p.name for p in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"
