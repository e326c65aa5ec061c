"""The wheel that the engines get: the clusters run what is shipped, never what lies beside them.

`python -m jobs.wheel` builds it when a source has changed, and prints its path.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import featuredsl
from featuredsl.errors import DependencyError, FeatureError
from featuredsl.settings import Settings

PACKAGES = ("featuredsl", "schemas", "monitors", "jobs", "serving", "localstack", "examples")
PATTERN = "featuredsl-*.whl"
_SKIPPED = {"__pycache__", "target", "connector"}


def wheel(settings: Settings) -> Path:
    """The wheel to ship: built anew from a source tree that has changed, else the one beside the jars.

    Raises DependencyError when there is neither a source tree nor a wheel.
    """
    folder = settings.jars.parent / "wheel"
    root = source_root()
    if root is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder.parent / "wheel.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _refresh(root, folder)
    found = sorted(folder.glob(PATTERN))
    if not found:
        msg = f"no {PATTERN} in {folder}: run `./run wheel`, or put the wheel of this release there"
        raise DependencyError(msg)
    return found[-1]


def source_root() -> Path | None:
    """The root of the source tree that this process runs from; None for an installed package."""
    root = Path(featuredsl.__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


def _refresh(root: Path, folder: Path) -> None:
    digest = _digest(root)
    stamp = folder / "digest"
    if stamp.is_file() and stamp.read_text() == digest and any(folder.glob(PATTERN)):
        return
    shutil.rmtree(root / "build" / "lib", ignore_errors=True)
    fresh = folder / "new"
    shutil.rmtree(fresh, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(fresh), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    built = list(fresh.glob(PATTERN))
    if done.returncode != 0 or len(built) != 1:
        msg = f"the wheel of {root} does not build: {(done.stderr or done.stdout).strip()[-2000:]}"
        raise FeatureError(msg)
    for old in folder.glob(PATTERN):
        old.unlink()
    built[0].rename(folder / built[0].name)
    shutil.rmtree(fresh)
    stamp.write_text(digest)


def _digest(root: Path) -> str:
    total = hashlib.sha256()
    for path in (root / "pyproject.toml", *(file for name in PACKAGES for file in _sources(root / name))):
        total.update(f"{path.relative_to(root)}\0".encode())
        total.update(path.read_bytes() + b"\0")
    return total.hexdigest()


def _sources(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob("*") if path.is_file() and _SKIPPED.isdisjoint(path.parts))


if __name__ == "__main__":
    print(wheel(Settings.load()))
