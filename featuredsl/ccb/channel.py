"""Hand-over of champions from the registry to services: a folder that changes atomically.

    <root>/<model>/<version>-<sha12>/…   an artefact directory, never changed once visible
    <root>/<model>/current.json          {"version", "path", "sha256"}
    <root>/<model>/frozen.json           {"reason"}: no automatic promotion while it is there

A reader sees either the old champion or the new one, never a half-written one. The digest is that of the artefact's
manifest, which in turn holds the digests of all files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from featuredsl.errors import InputError, StateError

POINTER = "current.json"
FROZEN = "frozen.json"
MANIFEST = "manifest.json"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Current:
    """The champion that readers should serve; `path` is its artefact directory."""

    model: str
    version: str
    path: Path
    sha256: str


def publish(root: Path, model: str, version: str, source_dir: Path) -> Current:
    """Make the artefact in `source_dir` the current version of `model`; the earlier versions stay on disk.

    Raises InputError when a name is not usable as a folder name or the directory holds no manifest.
    """
    digest = _manifest_digest(source_dir)
    folder = _checked("model", model, root / model)
    target = folder / f"{_checked('version', version, Path(version))}-{digest[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        _copy_atomically(source_dir, target)
    _write_atomically(folder / POINTER, {"version": version, "path": target.name, "sha256": digest})
    return Current(model, version, target, digest)


def read_current(root: Path, model: str) -> Current | None:
    """The current version, or None when nothing has been published; StateError when the pointer is not readable."""
    pointer = root / model / POINTER
    try:
        text = pointer.read_bytes()
    except FileNotFoundError:
        return None
    try:
        record = json.loads(text)
        version, name, digest = str(record["version"]), str(record["path"]), str(record["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"{pointer} is not a champion pointer ({error!r}); promote a version again to rewrite it"
        raise StateError(message) from error
    _checked("path", name, pointer)
    return Current(model, version, root / model / name, digest)


def pin_last_good(root: Path, model: str, is_good: Callable[[Path], bool]) -> Current:
    """Point `model` at the newest published artefact that `is_good`, the current one first.

    Needs no registry. Raises StateError when nothing that was published is good.
    """
    folder = root / model
    published = [path for path in folder.glob("*-*") if (path / MANIFEST).is_file() and path.name[0] != "."]
    published.sort(key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
    try:
        current = read_current(root, model)
    except StateError:
        current = None
    published.sort(key=lambda path: current is None or path != current.path)
    for path in published:
        if is_good(path):
            version, digest = path.name.rpartition("-")[0], _manifest_digest(path)
            _write_atomically(folder / POINTER, {"version": version, "path": path.name, "sha256": digest})
            return Current(model, version, path, digest)
    msg = f"none of the {len(published)} published versions of {model!r} under {root} is intact"
    raise StateError(msg)


def models(root: Path) -> list[str]:
    """Names of the models that were published, pinned or frozen under `root`."""
    return sorted(path.name for path in root.glob("*") if path.is_dir())


def known(root: Path, model: str) -> bool:
    """True when `model` was published, pinned or frozen under `root`. Raises InputError for an unusable name."""
    return _checked("model", model, root / model).is_dir()


def freeze(root: Path, model: str, reason: str) -> None:
    """Stop automatic promotion of `model` until `unfreeze`."""
    folder = _checked("model", model, root / model)
    folder.mkdir(parents=True, exist_ok=True)
    _write_atomically(folder / FROZEN, {"reason": reason})


def unfreeze(root: Path, model: str) -> None:
    """Allow automatic promotion again."""
    (root / model / FROZEN).unlink(missing_ok=True)


def frozen(root: Path, model: str) -> str | None:
    """Why automatic promotion of `model` is frozen; None when it is not."""
    try:
        return str(json.loads((root / model / FROZEN).read_bytes())["reason"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return f"{FROZEN} cannot be read"


def _manifest_digest(source_dir: Path) -> str:
    try:
        return hashlib.sha256((source_dir / MANIFEST).read_bytes()).hexdigest()
    except OSError as error:
        message = f"{source_dir} is not a model artefact: no readable {MANIFEST} ({error.strerror})"
        raise InputError(message) from error


def _checked(what: str, name: str, path: Path) -> Path:
    if not _NAME.fullmatch(name):
        message = f"{what} name {name!r}: use letters, digits, '.', '_', '-', at most 100, not starting with '.' or '-'"
        raise InputError(message)
    return path


def _copy_atomically(source: Path, target: Path) -> None:
    staging = Path(tempfile.mkdtemp(prefix=".incoming-", dir=target.parent))
    try:
        shutil.copytree(source, staging, dirs_exist_ok=True)
        staging.chmod(0o755)
        try:
            staging.rename(target)
        except OSError:
            if not target.exists():
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write_atomically(path: Path, record: dict[str, str]) -> None:
    handle, name = tempfile.mkstemp(prefix=".pointer-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
