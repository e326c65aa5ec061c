"""Folders of small files that are replaced at once: local, or at any URL that fsspec knows."""

from __future__ import annotations

import fcntl
import importlib
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from featuredsl.errors import DependencyError

Root = Path | str
LOCK = ".lock"
LOCK_WAIT_S = 30.0
_LOCK_POLL_S = 0.05


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place at the end; nothing is left after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        if temporary.exists():
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class Files(Protocol):
    """The files of one folder, by name."""

    where: str

    def read(self, name: str) -> bytes | None:
        """The content, or None when there is no such file."""

    def replace(self, name: str, content: bytes) -> None:
        """Write a file; a reader sees the old content or the new, never a part."""

    def names(self) -> list[str]:
        """Names of the files, sorted."""

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens when it is gone."""

    def exclusive(self) -> AbstractContextManager[bool]:
        """Keeps other writers out where that is possible: true inside it when it is.

        Raises DependencyError when another one does not end in time.
        """


class LocalFiles:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.where = str(root)
        self._root = root

    def read(self, name: str) -> bytes | None:
        """See `Files`."""
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def replace(self, name: str, content: bytes) -> None:
        """See `Files`: written beside it, synced, renamed."""
        with replacing(self._root / name) as temporary, temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def names(self) -> list[str]:
        """See `Files`."""
        if not self._root.is_dir():
            return []
        return sorted(path.name for path in self._root.iterdir() if path.is_file() and path.name[0] != ".")

    def remove(self, name: str) -> None:
        """See `Files`."""
        (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        """See `Files`: the kernel gives up the lock of a process that dies."""
        self._root.mkdir(parents=True, exist_ok=True)
        path = self._root / LOCK
        with path.open("a+") as file:
            deadline = time.monotonic() + LOCK_WAIT_S
            while not _locked(file.fileno()):
                if time.monotonic() > deadline:
                    file.seek(0)
                    raise DependencyError(
                        f"{path} is held by process {file.read().strip() or '?'} for more than {LOCK_WAIT_S:g} s; "
                        "wait until it has ended, then try again"
                    )
                time.sleep(_LOCK_POLL_S)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield True


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise DependencyError(f"the registry is on a file system without locks ({error}); use another") from error
    return True


def files_at(root: Root) -> Files:
    """The folder at a path or a URL such as `s3://bucket/registry`. Raises DependencyError without fsspec."""
    text = str(root)
    if "://" not in text:
        return LocalFiles(Path(root))
    if text.startswith("file://"):
        return LocalFiles(Path(text.removeprefix("file://")))
    try:
        remote = importlib.import_module("featuredsl.remote_files")
    except ImportError as error:
        raise DependencyError(f"{text} needs fsspec ({error}); install featuredsl[remote]") from error
    found: Files = remote.RemoteFiles(text)
    return found
