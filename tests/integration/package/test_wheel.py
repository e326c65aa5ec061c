"""The wheel holds what the tree holds, and works without the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from featuredsl.settings import Settings
from jobs.wheel import PACKAGES, wheel
from tests.support.stack import JARS, ROOT

SUFFIXES = (".py", ".json", ".lua", ".proto")


@pytest.fixture(scope="module")
def archive() -> Path:
    return wheel(Settings.load(jars=JARS))


def test_every_module_and_data_file_is_inside(archive: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    expected = {name for name in listed if name.endswith(SUFFIXES) and "/connector/" not in name}
    inside = set(zipfile.ZipFile(archive).namelist())
    assert expected
    assert expected - inside == set()
    assert not [name for name in inside if name.startswith("tests") or name.endswith(".java")]


def test_it_is_importable_as_a_zip_with_its_data(archive: Path, tmp_path: Path) -> None:
    script = (
        "import featuredsl, schemas.records, featuredsl.online.store, jobs.flink.sql_job, jobs.kafka;"
        "from importlib import resources;"
        "print(featuredsl.__file__);"
        "print(len(list(resources.files('schemas').joinpath('events').iterdir())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(archive), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    place, count = done.stdout.split()
    assert place.startswith(str(archive))
    assert int(count) == len(list((ROOT / "schemas" / "events").glob("*.json")))


def test_it_is_built_once_per_state_of_the_tree(archive: Path) -> None:
    before = archive.stat().st_mtime_ns
    assert wheel(Settings.load(jars=JARS)).stat().st_mtime_ns == before
