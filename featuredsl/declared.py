"""What the decorators keep of a method until its class becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType

from featuredsl.errors import DefinitionError
from featuredsl.nodes import Value
from featuredsl.sources import EventSource
from featuredsl.where import Location
from featuredsl.windows import Window

WindowSpec = str | Window


@dataclass(frozen=True, slots=True)
class DeclaredFeature:
    """What `@feature` keeps of a method; `problem` is told with those of the whole class."""

    function: FunctionType
    sources: tuple[EventSource, ...]
    freshness: str
    windows: tuple[WindowSpec, ...]
    ttl: str | int | None
    default: Value
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
