"""The newest complete checkpoint of a job: by its metadata, across restarts under other ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from featuredsl.errors import InputError
from featuredsl.settings import Settings
from jobs.flink.retained import newest_checkpoint, remember_job


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "flink" / "client" / "job").mkdir(parents=True)
    return replace(Settings.load(), home=tmp_path)


def checkpoint(folder: Path, job: str, number: int, content: bytes = b"x") -> str:
    path = folder / job / f"chk-{number}"
    path.mkdir(parents=True)
    (path / "_metadata").write_bytes(content)
    return path.as_uri()


def test_numbers_are_compared_as_numbers_and_half_written_ones_skipped(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "check points"
    remember_job(settings, "job", "one", folder.as_uri())
    checkpoint(folder, "one", 9)
    newest = checkpoint(folder, "one", 10)
    (folder / "one" / "chk-11").mkdir()
    checkpoint(folder, "one", 12, b"")
    assert newest_checkpoint(settings, "job") == newest


def test_the_last_started_job_that_has_one(settings: Settings, tmp_path: Path) -> None:
    remember_job(settings, "job", "one", tmp_path.as_uri())
    first = checkpoint(tmp_path, "one", 40)
    remember_job(settings, "job", "two", tmp_path.as_uri())
    assert newest_checkpoint(settings, "job") == first
    second = checkpoint(tmp_path, "two", 1)
    assert newest_checkpoint(settings, "job") == second


def test_none(settings: Settings) -> None:
    with pytest.raises(InputError, match=r"no complete checkpoint of the job job .* name one with --from"):
        newest_checkpoint(settings, "job")
    remember_job(settings, "job", "one", "s3://bucket/checkpoints")
    with pytest.raises(InputError, match="no complete checkpoint"):
        newest_checkpoint(settings, "job")
