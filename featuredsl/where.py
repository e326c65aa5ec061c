"""Where a definition was written, and errors that say so."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import ParamSpec, TypeVar

from featuredsl.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")

_OURS = (str(Path(__file__).parent) + os.sep, os.path.dirname(os.__file__) + os.sep, "<frozen ")

_kept: ContextVar[list[DefinitionError] | None] = ContextVar("featuredsl_kept", default=None)


@dataclass(frozen=True, slots=True)
class Location:
    """Where something was written."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class at:
    """Prefixes an error with what and where; errors that already say so pass.

    With the `code` of a method the place is the line of it that failed, and any exception counts: it comes from
    the author's own lines.
    """

    def __init__(self, location: Location, what: str, code: CodeType | None = None) -> None:
        self._location = location
        self._what = what
        self._code = code

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or (isinstance(error, DefinitionError) and error.located):
            return
        if isinstance(error, ValueError):
            made = type(error) if isinstance(error, DefinitionError) else DefinitionError
            raise self._located(made, str(error), trace) from None
        if self._code is not None and isinstance(error, Exception):
            text = str(error) if isinstance(error, AttributeError) else f"{type(error).__name__}: {error}"
            text += "; columns are expressions: use their own methods and operators" if "Expr" in text else ""
            raise self._located(DefinitionError, text, trace) from error

    def _located(self, kind: type[DefinitionError], text: str, trace: TracebackType | None) -> DefinitionError:
        return located_error(f"{self._what} ({self._place(trace)}): {text}", kind)

    def _place(self, trace: TracebackType | None) -> str:
        lines = _author_lines(trace)
        own = next((line for code, line in lines if code is self._code), None)
        if own is None:
            return str(self._location)
        place = f"{self._location.file}:{own}"
        code, line = lines[-1]
        if code is self._code:
            return place
        return f"{place}, through {code.co_name} at {short_path(code.co_filename)}:{line}"


def located_error(text: str, kind: type[DefinitionError] = DefinitionError) -> DefinitionError:
    """An error whose text already says where."""
    error = kind(text)
    error.located = True
    return error


def located(function: Callable[P, R]) -> Callable[P, R]:
    """Errors of a call in an author's file start with its file:line; calls inside featuredsl are left alone."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            frame = sys._getframe(1)
            if is_ours(frame.f_code) or (isinstance(error, DefinitionError) and error.located):
                raise
            place = Location(short_path(frame.f_code.co_filename), frame.f_lineno)
            raise located_error(f"{place}: {error}") from None

    return call


def together(errors: Sequence[DefinitionError]) -> DefinitionError:
    """One error for several: each on a line of its own."""
    if len(errors) == 1:
        return errors[0]
    lines = [line for error in errors for line in error.lines or (str(error),)]
    made = located_error(f"{len(lines)} errors:\n  " + "\n  ".join(lines))
    made.lines = tuple(lines)
    return made


class keeping:
    """Inside it `keep` collects the errors of groups, so that a file is told all of them at once."""

    def __enter__(self) -> list[DefinitionError]:
        errors: list[DefinitionError] = []
        self._token = _kept.set(errors)
        return errors

    def __exit__(self, *_: object) -> None:
        _kept.reset(self._token)


def is_keeping() -> bool:
    """True while a definition file is loaded."""
    return _kept.get() is not None


def keep(error: DefinitionError) -> bool:
    """Keeps an error for later; False where nobody collects."""
    errors = _kept.get()
    if errors is None:
        return False
    errors.append(error)
    return True


def author_place() -> Location:
    """The line of the author's file that called into featuredsl."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return Location("<unknown>", 0)
    return Location(short_path(frame.f_code.co_filename), frame.f_lineno)


def author_line(trace: TracebackType | None) -> Location | None:
    """The last line of a traceback that is not featuredsl's own."""
    lines = _author_lines(trace)
    return Location(short_path(lines[-1][0].co_filename), lines[-1][1]) if lines else None


def _author_lines(trace: TracebackType | None) -> list[tuple[CodeType, int]]:
    lines = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_ours(code):
            lines.append((code, trace.tb_lineno))
        trace = trace.tb_next
    return lines


def is_ours(code: CodeType) -> bool:
    """True for code of this package and of Python's own library: never the place to show to an author."""
    return code.co_filename.startswith(_OURS)


def location_of(function: FunctionType) -> Location:
    """Where a function was written."""
    return Location(short_path(function.__code__.co_filename), function.__code__.co_firstlineno)


def short_path(file: str) -> str:
    """A path relative to the working folder, or its last part."""
    return _short(file, os.getcwd())


@functools.lru_cache(maxsize=256)
def _short(file: str, folder: str) -> str:
    path, cwd = Path(file), Path(folder)
    return str(path.relative_to(cwd)) if path.is_absolute() and path.is_relative_to(cwd) else path.name
