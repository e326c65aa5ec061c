"""The table of wide aggregates. Adding one is its monoid in a module of its own, a row here, and its tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from featuredsl.aggregators import Aggregate, WidePartial
from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import DefinitionError, UnsupportedError
from featuredsl.nodes import Column, Literal, Node, Value, approximate_of, call
from featuredsl.sources import EventSource
from featuredsl.wide.decayed import Decayed
from featuredsl.wide.distinct import Distinct
from featuredsl.wide.frequent import TopK
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.ordered import First, LastK
from featuredsl.wide.quantile import Quantile

_ARRAYS: dict[DType, DType] = {element: array for array, element in ELEMENTS.items()}
_NUMBERS: tuple[DType, ...] = ("int", "float")
_LISTED: tuple[DType, ...] = ("int", "float", "str")
_SCALARS: tuple[DType, ...] = ("int", "float", "str", "bool")


@dataclass(frozen=True, slots=True)
class WideKind:
    """`make` takes the author's parameters; `dtype` is the result's type by the argument's; `nothing` is the value
    of no row. A `ranked` kind sees what decides between equal times; one `as_float` takes integers as floats; one that
    `decides` by equality refuses expressions whose last digits differ between engines."""

    name: str
    make: Callable[..., Monoid[Any]]
    dtype: Callable[[DType], DType]
    takes: tuple[DType, ...]
    nothing: Value = None
    ranked: bool = False
    as_float: bool = False
    decides: bool = False


def _same(dtype: DType) -> DType:
    return dtype


def _list_of(dtype: DType) -> DType:
    return _ARRAYS[dtype]


KINDS: dict[str, WideKind] = {
    row.name: row
    for row in (
        WideKind("first", First, _same, _SCALARS, ranked=True),
        WideKind("last_k", LastK, _list_of, _LISTED, ranked=True),
        WideKind("top_k", lambda k: TopK(k, "values"), _list_of, _LISTED, decides=True),
        WideKind("top_k_counts", lambda k: TopK(k, "counts"), lambda dtype: "int[]", _LISTED, decides=True),
        WideKind("most_frequent", lambda: TopK(1, "value"), _same, _SCALARS, decides=True),
        WideKind("approx_distinct", Distinct, lambda dtype: "int", _SCALARS, nothing=0, decides=True),
        WideKind("approx_quantile", Quantile, lambda dtype: "float", _NUMBERS, as_float=True),
        WideKind("decayed_sum", lambda half_life_us: Decayed(half_life_us, None), _same, _NUMBERS, as_float=True),
        WideKind("decayed_count", lambda half_life_us: Decayed(half_life_us, 0.0), lambda x: "float", ("int",), 0.0),
    )
}


def monoid_of(part: WidePartial) -> Monoid[Any]:
    """The monoid that keeps the state of a wide partial."""
    return KINDS[part.kind].make(**dict(part.params))


def wide_aggregate(kind: str, source: EventSource, arg: Node, where: Node | None, **params: Any) -> Aggregate:
    """The aggregate of `arg` over the rows of `source` for which `where` is true.

    Nulls are skipped, and floats that are not finite, which only `first` keeps. Raises DefinitionError for an
    argument or a parameter that the kind does not take.
    """
    row = KINDS[kind]
    if arg.dtype not in row.takes:
        raise DefinitionError(f"{kind}() takes {_spelled(row.takes)}, not {arg.dtype}")
    found = approximate_of(arg) if row.decides else None
    if found is not None:
        raise DefinitionError(f"{kind}() of {found}() may differ between engines, whose last digits of {found}() do")
    value = call("to_float", arg) if row.as_float and arg.dtype == "int" else arg
    if value.dtype == "float" and kind != "first":
        value = call("finite", value)
    present = where if isinstance(arg, Literal) else _both(where, call("not", call("is_null", value)))
    columns = (value, *rank_of(source), value) if row.ranked else (value,)
    return _aggregate(row, source, columns, present, params)


def first_row(source: EventSource, column: str, where: Node | None) -> Aggregate:
    """A column of the earliest row, which may be null; the whole row decides between equal times."""
    rank = (*rank_of(source), *(Column(name, dtype) for name, dtype in source.columns))
    value = next(node for node in rank[::-1] if node.name == column)
    return _aggregate(KINDS["first"], source, (value, *rank), where, {})


def rank_of(source: EventSource) -> tuple[Column, ...]:
    """What decides first between equal event times."""
    return (Column(source.sequence, "int"),) if source.sequence else ()


def _aggregate(
    row: WideKind, source: EventSource, columns: tuple[Node, ...], where: Node | None, params: dict[str, Any]
) -> Aggregate:
    row.make(**params)
    for option in ("arrival_time", "unique", "origin"):
        if getattr(source, option, None):
            raise UnsupportedError(f"{row.name}() of source {source.name!r}, which has {option}: not in this release")
    dtype = row.dtype(columns[0].dtype)
    part = WidePartial(source.name, row.name, tuple(params.items()), columns, where, dtype, row.nothing)
    return Aggregate((), Column("v0", dtype), (part,))


def _both(where: Node | None, condition: Node) -> Node:
    return condition if where is None else call("and", where, condition)


def _spelled(takes: tuple[DType, ...]) -> str:
    kinds = {"int": "a number", "float": "a number", "str": "a string", "bool": "a boolean"}
    return " or ".join(dict.fromkeys(kinds[dtype] for dtype in takes))
