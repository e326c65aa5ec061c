"""What the decorators keep of a method until its class becomes a plan, and where it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType

from featuredsl.errors import DefinitionError
from featuredsl.plan import Location
from featuredsl.sources import EventSource
from featuredsl.windows import Window

WindowSpec = str | Window


@dataclass(frozen=True, slots=True)
class DeclaredFeature:
    """What `@feature` keeps of a method."""

    function: FunctionType
    sources: tuple[EventSource, ...]
    freshness: str
    windows: tuple[object, ...]
    ttl: str | int | None
    default: object
    location: Location


@dataclass(frozen=True, slots=True)
class DeclaredOnDemand:
    """What `@on_demand` keeps of a function."""

    function: FunctionType
    inputs: tuple[str, ...]
    request: Mapping[str, object] = field(default_factory=dict)


class at:
    """Prefixes a DefinitionError with what and where."""

    def __init__(self, location: Location, what: str) -> None:
        self.prefix = f"{what} ({location}): "

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DefinitionError) and " (" not in str(error).split(": ", 1)[0]:
            raise type(error)(self.prefix + str(error)) from None
        if isinstance(error, ValueError) and not isinstance(error, DefinitionError):
            raise DefinitionError(self.prefix + str(error)) from None


def location_of(function: FunctionType) -> Location:
    """Where a function was written."""
    return Location(short_path(function.__code__.co_filename), function.__code__.co_firstlineno)


def short_path(file: str) -> str:
    """A path relative to the working folder, or its last part."""
    path = Path(file)
    cwd = Path.cwd()
    return str(path.relative_to(cwd)) if path.is_absolute() and path.is_relative_to(cwd) else path.name


def check_name(kind: str, name: str) -> None:
    """Refuses what is no identifier, or would be taken for one of ours."""
    if not name.isidentifier() or "__" in name or name.startswith("_"):
        raise DefinitionError(f"{kind} name {name!r} must be an identifier without '__'")
