"""Outputs never overwrite inputs, nor each other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from featuredsl.cli.main import run
from featuredsl.cli.paths import refuse_overwrite
from featuredsl.errors import InputError


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    impressions, clicks = tmp_path / "i.jsonl", tmp_path / "c.jsonl"
    impressions.write_text('{"event_id": "e1"}\n')
    clicks.write_text('{"event_id": "e1", "slot_id": "a", "ts": 1760000000000}\n')
    return impressions, clicks


def join(files: tuple[Path, Path], out: str | Path, dead_letter: str | Path, *more: str) -> list[str]:
    return [
        "ccb", "join", "--impressions", str(files[0]), "--clicks", str(files[1]),
        "--out", str(out), "--dead-letter", str(dead_letter), *more,
    ]  # fmt: skip


def test_an_output_that_is_an_input_is_refused(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [file.read_bytes() for file in files]
    other = tmp_path / "sub" / ".." / "i.jsonl"
    (tmp_path / "sub").mkdir()
    link = tmp_path / "link.jsonl"
    link.symlink_to(files[1])
    hard = tmp_path / "hard.jsonl"
    os.link(files[0], hard)
    for out, option in ((files[0], "--impressions"), (other, "--impressions"), (link, "--clicks"), (hard, "--impr")):
        assert run(join(files, out, tmp_path / "d.jsonl")) == 2
        stderr = capsys.readouterr().err
        assert f"--out {out} is the file of {option}" in stderr
        assert len(stderr.splitlines()) == 1
    assert run(join(files, tmp_path / "e.jsonl", files[1])) == 2
    assert f"--dead-letter {files[1]} is the file of --clicks" in capsys.readouterr().err
    assert [file.read_bytes() for file in files] == before
    assert not (tmp_path / "d.jsonl").exists()
    assert not (tmp_path / "e.jsonl").exists()


def test_two_outputs_of_one_name_are_refused(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = tmp_path / "same.jsonl"
    assert run(join(files, same, tmp_path / "." / "same.jsonl")) == 2
    assert "--dead-letter" in capsys.readouterr().err
    assert run(join(files, same, tmp_path / "d.jsonl", "--late-clicks", str(same))) == 2
    assert f"--late-clicks {same} is the file of --out" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "i.jsonl"]


def test_a_wrong_suffix_of_the_second_output_is_found_before_the_first_is_written(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(join(files, tmp_path / "e.jsonl", tmp_path / "d.txt")) == 2
    assert "not in '.txt'" in capsys.readouterr().err
    assert not (tmp_path / "e.jsonl").exists()


def test_null_devices_may_be_given_twice() -> None:
    null = Path("/dev/null")
    refuse_overwrite({"--out": null, "--dead-letter": null}, {"--labels": null})


def test_files_that_do_not_exist_are_told_apart_by_their_resolved_names(tmp_path: Path) -> None:
    refuse_overwrite({"--out": tmp_path / "a"}, {"--in": tmp_path / "b"})
    with pytest.raises(InputError, match="--out"):
        refuse_overwrite({"--out": tmp_path / "x" / ".." / "a"}, {"--in": tmp_path / "a"})
