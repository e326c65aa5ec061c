"""Checks on the files that a command is going to write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from featuredsl.errors import InputError


def refuse_overwrite(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise InputError when an output is an input or another output; call it before anything is written.

    Keys are what the user wrote (`--out`). Links and other spellings of one file count as that file.
    """
    seen = dict(inputs)
    for option, path in outputs.items():
        for other, taken in seen.items():
            if _same(path, taken):
                msg = f"{option} {path} is the file of {other} too; give {option} a file of its own"
                raise InputError(msg)
        seen[option] = path


def _same(first: Path, second: Path) -> bool:
    if _device(first) or _device(second):
        return False
    try:
        return first.samefile(second)
    except OSError:
        return first.resolve() == second.resolve()


def _device(path: Path) -> bool:
    """/dev/null and the like may stand for several files."""
    return path.is_char_device() or path.is_fifo()
