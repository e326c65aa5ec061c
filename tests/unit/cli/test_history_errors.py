"""`featuredsl history` with files that cannot be used: one clear line, the right exit code, nothing overwritten."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from featuredsl.cli.main import run

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "price": float})

@feature_group(name="g", entity="user")
class G:
    @feature(freshness="realtime", window="1h")
    def n(e: clicks) -> int:
        return e.count()
"""
LABELS = "user,ts\nu1,1796026300000\n"
GOOD = b'{"user": "u1", "price": 1.5, "ts": 1796026200000}\n'
LATIN = b'{"user": "u\xe9", "price": 1.5, "ts": 1796026200001}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.py").write_text(DEFINITIONS)
    Path("l.csv").write_text(LABELS)
    Path("c.jsonl").write_bytes(GOOD + LATIN + GOOD)
    return tmp_path


def test_a_line_that_is_not_utf8_is_a_dead_letter(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", "d.py", "--events", "clicks=c.jsonl", "--labels", "l.csv", "--out", "o.jsonl"]) == 0
    assert json.loads(Path("o.jsonl").read_text())["g__n"] == 2
    letter = json.loads(Path("o.jsonl.rejected.jsonl").read_text())
    assert letter["reason"] == "bad_utf8"
    assert base64.b64decode(letter["payload"]) == LATIN.rstrip()
    assert "2 events, 1 rejected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "options", "text"),
    [
        (
            {"c.csv": b"user,price,ts\nu1,1.5\nu1,2\n"},
            ["--events", "clicks=c.csv", "--labels", "l.csv", "--out", "o.jsonl"],
            "c.csv, line 2: too_few_cells: 2, the header has 3; no row can be read",
        ),
        (
            {"c.csv": b'user,price,ts\nu1,1.5,1796026200000\n"u1,2,1796026200000\nu1,3,1796026200000\n'},
            ["--events", "clicks=c.csv", "--labels", "l.csv", "--out", "o.jsonl"],
            "c.csv, line 3 cannot be read: a quote is never closed",
        ),
        (
            {"c.csv": b"user,ts\nu1,1796026200000\n"},
            ["--events", "clicks=c.csv", "--labels", "l.csv", "--out", "o.jsonl"],
            "c.csv: column 'price' is not in 'c.csv'; it has: user, ts.",
        ),
        (
            {"b.parquet": b"xx"},
            ["--events", "clicks=b.parquet", "--labels", "l.csv", "--out", "o.jsonl"],
            "b.parquet cannot be read: ",
        ),
        (
            {"l.jsonl": LATIN},
            ["--events", "clicks=c.jsonl", "--labels", "l.jsonl", "--out", "o.jsonl"],
            "l.jsonl, line 1 cannot be read: Invalid unicode",
        ),
        (
            {},
            ["--events", "clicks=c.jsonl", "--labels", "l.csv", "--out", "l.csv"],
            "--out l.csv is the file of --labels too; give --out a file of its own",
        ),
        (
            {},
            ["--events", "clicks=c.jsonl", "--labels", "l.csv", "--out", "c.jsonl"],
            "--out c.jsonl is the file of --events clicks too; give --out a file of its own",
        ),
        (
            {},
            ["--events", "clicks=c.jsonl", "--events", "clicks=l.csv", "--labels", "l.csv", "--out", "o.csv"],
            "--events clicks is given twice: c.jsonl and l.csv",
        ),
        (
            {},
            ["--events", "clicks=c.jsonl", "--events", "clikcs=c.jsonl", "--labels", "l.csv", "--out", "o.csv"],
            "source 'clikcs' is not in 'the definitions'; it has: clicks. Did you mean 'clicks'?",
        ),
        (
            {},
            ["--events", "clicks=c.jsonl", "--labels", "l.csv", "--out", "o.txt"],
            "--out o.txt: suffix '.txt' is none of .jsonl, .ndjson, .json, .csv, .parquet",
        ),
    ],
)
def test_bad_files_are_one_line(
    files: dict[str, bytes], options: list[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in files.items():
        Path(name).write_bytes(content)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run(["history", "d.py", *options]) == 2
    said = capsys.readouterr().err.strip()
    assert text in said
    assert len(said.splitlines()) == 1
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "__pycache__"} == before
