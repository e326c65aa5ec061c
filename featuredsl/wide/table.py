"""The table of wide aggregates. Adding one is its monoid in a module of its own, a row here, and its tests.

A monoid is named, and imported when a definition first uses it: `import featuredsl` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from featuredsl.aggregators import Aggregate, WidePartial
from featuredsl.dtypes import ELEMENTS, SCALARS, DType
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Column, Literal, Node, Value, approximate_of, call
from featuredsl.sources import EventSource

if TYPE_CHECKING:
    from featuredsl.wide.monoid import Monoid

Params = tuple[tuple[str, Value], ...]
_ARRAYS: dict[DType, DType] = {element: array for array, element in ELEMENTS.items()}
_NUMBERS: tuple[DType, ...] = ("int", "float")
_LISTED: tuple[DType, ...] = ("int", "float", "str")


@dataclass(frozen=True, slots=True)
class WideKind:
    """`monoid` is `module.Class` of this package, made of the author's parameters and those that are `fixed`.

    `dtype` is the result's type by that of `value`, which is what is kept of the argument; `nothing` is the value of
    no row. A `ranked` kind sees what decides between equal times; one that `decides` by equality refuses expressions
    whose last digits differ between engines. Where the parameters do not shape the state but its value only, `keeps`
    names the kind and parameters under which all of them keep one state.
    """

    name: str
    monoid: str
    dtype: Callable[[DType], DType]
    takes: tuple[DType, ...]
    value: Callable[[Node], Node]
    nothing: Value = None
    ranked: bool = False
    decides: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    keeps: tuple[str, Params] | None = None

    def make(self, **params: Any) -> Monoid[Any]:
        """The monoid; raises DefinitionError for a parameter that it does not take."""
        module, _, name = self.monoid.partition(".")
        made: Monoid[Any] = getattr(import_module(f"featuredsl.wide.{module}"), name)(**params, **self.fixed)
        return made


def _as_it_is(arg: Node) -> Node:
    return arg


def _finite(arg: Node) -> Node:
    return call("finite", arg) if arg.dtype == "float" else arg


def _float(arg: Node) -> Node:
    return _finite(call("to_float", arg) if arg.dtype == "int" else arg)


def _one(arg: Node) -> Node:
    return Literal(1, "int")


def _same(dtype: DType) -> DType:
    return dtype


def _list_of(dtype: DType) -> DType:
    return _ARRAYS[dtype]


def _int(dtype: DType) -> DType:
    return "int"


def _ints(dtype: DType) -> DType:
    return "int[]"


def _real(dtype: DType) -> DType:
    return "float"


_VALUES, _COUNTS, _BEST = {"gives": "values"}, {"gives": "counts"}, {"k": 1, "gives": "value"}
_COUNTED: tuple[str, Params] = ("most_frequent", ())
_BUCKETED: tuple[str, Params] = ("approx_quantile", (("q", 0.5),))

KINDS: dict[str, WideKind] = {
    row.name: row
    for row in (
        WideKind("first", "ordered.First", _same, SCALARS, _as_it_is, ranked=True),
        WideKind("last_k", "ordered.LastK", _list_of, _LISTED, _finite, ranked=True),
        WideKind("top_k", "frequent.TopK", _list_of, _LISTED, _finite, decides=True, fixed=_VALUES, keeps=_COUNTED),
        WideKind("top_k_counts", "frequent.TopK", _ints, _LISTED, _finite, decides=True, fixed=_COUNTS, keeps=_COUNTED),
        WideKind("most_frequent", "frequent.TopK", _same, SCALARS, _finite, decides=True, fixed=_BEST, keeps=_COUNTED),
        WideKind("approx_distinct", "distinct.Distinct", _int, SCALARS, _finite, nothing=0, decides=True),
        WideKind("approx_quantile", "quantile.Quantile", _same, _NUMBERS, _float, keeps=_BUCKETED),
        WideKind("decayed_sum", "decayed.Decayed", _same, _NUMBERS, _float, fixed={"nothing": None}),
        WideKind("decayed_count", "decayed.Decayed", _real, SCALARS, _one, nothing=0.0, fixed={"nothing": 0.0}),
    )
}


def monoid_of(part: WidePartial) -> Monoid[Any]:
    """The monoid that keeps the state of a wide partial."""
    return KINDS[part.kind].make(**dict(part.params))


def kept_as(part: WidePartial) -> WidePartial:
    """The partial by which its state is kept: equal for all that read one state, as quantiles of one column do."""
    kind, params = KINDS[part.kind].keeps or (part.kind, part.params)
    return replace(part, kind=kind, params=params, dtype=part.columns[0].dtype, nothing=None)


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
    value = row.value(arg)
    kept = arg if isinstance(value, Literal) else value
    present = where if isinstance(arg, Literal) else _both(where, call("not", call("is_null", kept)))
    columns = (value, *rank_of(source), value) if row.ranked else (value,)
    return _aggregate(row, source, columns, present, where, params)


def first_row(source: EventSource, column: str, where: Node | None) -> Aggregate:
    """A column of the earliest row, which may be null; the whole row decides between equal times."""
    rank = (*rank_of(source), *(Column(name, dtype) for name, dtype in source.columns))
    value = next(node for node in rank[::-1] if node.name == column)
    return _aggregate(KINDS["first"], source, (value, *rank), where, where, {})


def rank_of(source: EventSource) -> tuple[Column, ...]:
    """What decides first between equal event times."""
    return (Column(source.sequence_column, "int"),) if source.sequence_column else ()


def _aggregate(
    row: WideKind,
    source: EventSource,
    columns: tuple[Node, ...],
    where: Node | None,
    given: Node | None,
    params: dict[str, Any],
) -> Aggregate:
    row.make(**params)
    dtype = row.dtype(columns[0].dtype)
    part = WidePartial(source.name, row.name, tuple(params.items()), columns, where, dtype, row.nothing, given)
    return Aggregate((), Column("v0", dtype), (part,))


def _both(where: Node | None, condition: Node) -> Node:
    return condition if where is None else call("and", where, condition)


def _spelled(takes: tuple[DType, ...]) -> str:
    kinds = {"int": "a number", "float": "a number", "str": "a string", "bool": "a boolean"}
    return " or ".join(dict.fromkeys(kinds[dtype] for dtype in takes))
