"""A folder at a URL, through fsspec. Object stores replace an object at once, which is all that is relied on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import fsspec


class RemoteFiles:
    """See `featuredsl.files.Files`."""

    def __init__(self, url: str) -> None:
        self.where = url
        self._fs, self._root = fsspec.core.url_to_fs(url)

    def read(self, name: str) -> bytes | None:
        """The content, or None when there is no such file."""
        try:
            content: bytes = self._fs.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        return content

    def replace(self, name: str, content: bytes) -> None:
        """Write a file at once."""
        self._fs.makedirs(self._root, exist_ok=True)
        self._fs.pipe_file(self._path(name), content)

    def names(self) -> list[str]:
        """Names of the files, sorted."""
        try:
            found = self._fs.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens when it is gone."""
        try:
            self._fs.rm_file(self._path(name))
        except FileNotFoundError:
            return

    def exclusive(self) -> AbstractContextManager[bool]:
        """See `Files`: object stores have no locks."""
        return nullcontext(False)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"
