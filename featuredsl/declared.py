"""What the decorators keep of a method until its class becomes a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TypeVar

from featuredsl.errors import DefinitionError
from featuredsl.plan import OnDemandFeature, StoredFeature
from featuredsl.records import dataclass, field, replace
from featuredsl.sources import EventSource
from featuredsl.where import Location, together
from featuredsl.windows import Window

WindowSpec = str | Window


@dataclass(frozen=True, slots=True)
class DeclaredFeature:
    """What `@feature` keeps of a method; `problem` is told with those of the whole class."""

    function: FunctionType
    sources: tuple[EventSource, ...]
    freshness: str
    windows: tuple[object, ...]
    ttl: str | int | None
    default: object
    location: Location
    tags: tuple[str, ...] = ()
    problem: DefinitionError | None = None


@dataclass(frozen=True, slots=True)
class DeclaredOnDemand:
    """What `@on_demand` keeps of a function."""

    function: FunctionType
    inputs: tuple[str, ...]
    request: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    problem: DefinitionError | None = None


D = TypeVar("D", DeclaredFeature, DeclaredOnDemand)
F = TypeVar("F", StoredFeature, OnDemandFeature)


def built(build: Callable[[D], Sequence[F]], declared: Sequence[D]) -> tuple[F, ...]:
    """What is built of all of them, or the errors of all of them as one."""
    found: list[F] = []
    errors: list[DefinitionError] = []
    for item in declared:
        try:
            if item.problem is not None:
                raise item.problem
            doc = inspect.cleandoc(item.function.__doc__ or "")
            found += [replace(made, tags=item.tags, doc=doc) for made in build(item)]
        except DefinitionError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return tuple(found)


def check_name(kind: str, name: str) -> None:
    """Refuses what is no identifier, or would be taken for one of ours."""
    if not name.isidentifier() or "__" in name or name.startswith("_"):
        raise DefinitionError(
            f"{kind} name {name!r} must be a Python name that does not start with '_' and has no '__': output columns "
            "are called group__feature"
        )
