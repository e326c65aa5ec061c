"""Bad definitions and what their authors are told, as text. A change here is a change of our manners: read it.

Regenerate with `python -m tests.golden.test_errors`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

import pytest

from featuredsl.cli.main import run
from tests.golden.error_cases import CASES

FOLDER = Path(__file__).with_name("errors")
NAMES = [(file, name) for file, cases in CASES.items() for name in cases]
PLACE = re.compile(r"definitions\.py:\d+")


def told(source: str, folder: Path) -> str:
    """What `featuredsl check` says, with its exit code, without the temporary folder."""
    path = folder / "definitions.py"
    path.write_text(source, encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        code = run(["check", str(path)])
    text = out.getvalue()
    for prefix in (str(folder), os.path.relpath(folder)):
        text = text.replace(f"{prefix}/", "")
    return f"exit {code}: {text}".rstrip()


def golden(file: str) -> dict[str, str]:
    """Name of a case to its text."""
    parts = (FOLDER / f"{file}.txt").read_text(encoding="utf-8").split("## ")[1:]
    return {name: text.strip() for name, text in (part.split("\n", 1) for part in parts)}


@pytest.mark.parametrize(("file", "name"), NAMES, ids=lambda value: value.replace(" ", "_"))
def test_text_is_the_golden_one(file: str, name: str, tmp_path: Path) -> None:
    assert told(CASES[file][name], tmp_path) == golden(file)[name]


def test_every_text_names_its_line_and_is_an_error_of_the_author() -> None:
    texts = {name: text for file in CASES for name, text in golden(file).items()}
    assert len(texts) == len(NAMES) >= 40
    assert [name for name, text in texts.items() if not text.startswith("exit 2: error: ")] == []
    assert [name for name, text in texts.items() if not PLACE.search(text) and name != "no group"] == []


def test_golden_files_hold_the_cases_and_no_others() -> None:
    assert {file: set(golden(file)) for file in CASES} == {file: set(cases) for file, cases in CASES.items()}


def test_a_missing_file_names_those_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "features.py").write_text("", encoding="utf-8")
    assert run(["check", str(tmp_path / "featurs.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: no definition file {tmp_path}/featurs.py; {tmp_path} has: features.py\n"
    )
    assert run(["check", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for golden_file, cases in CASES.items():
        with tempfile.TemporaryDirectory() as temporary:
            sections = [f"## {name}\n{told(text, Path(temporary))}\n" for name, text in cases.items()]
        (FOLDER / f"{golden_file}.txt").write_text("\n".join(sections), encoding="utf-8")
