"""Expression nodes to SQL text. The portable subset is spelled alike in every dialect; `Dialect` holds the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from featuredsl.compilers.bounds import is_finite
from featuredsl.compilers.dialect import DIALECTS, DUCKDB, FLINK, SPARK, Dialect
from featuredsl.compilers.forms import FORMS, Want, finite
from featuredsl.lowering import lower
from featuredsl.nodes import Call, Column, Literal, Node

__all__ = ["DIALECTS", "DUCKDB", "FLINK", "SPARK", "Dialect", "floor_div", "floor_to", "positive_mod", "render"]

_ARITHMETIC = frozenset({"+", "-", "*", "/", "neg", "abs"})


def render(node: Node, dialect: Dialect) -> str:
    """SQL text of a node."""
    return _finite(node, dialect) if _is_computed(node) else _plain(node, dialect)


@lru_cache(maxsize=4096)
def _plain(node: Node, dialect: Dialect) -> str:
    """The node as it is. NaN and infinities carry through +, -, * and the dividend of /, so a guard around the
    outermost of them is enough."""
    if isinstance(node, Column):
        name = dialect.ident(node.name)
        return f"{dialect.ident(node.table)}.{name}" if node.table else name
    if isinstance(node, Literal):
        return dialect.literal(node)
    simple = lower(node)
    if not isinstance(simple, Call) or simple.op != node.op:
        return render(simple, dialect)
    form = FORMS[simple.op]
    args = [_WANTED[form.want(i)](arg, dialect) for i, arg in enumerate(simple.args)]
    return form.text(simple, args, dialect)


def _finite(node: Node, dialect: Dialect) -> str:
    """The node, null where it is a float that is not finite."""
    text = _plain(node, dialect)
    return text if node.dtype != "float" or is_finite(node) else finite(text)


def _is_computed(node: Node) -> bool:
    return isinstance(node, Call) and node.op in _ARITHMETIC


_WANTED: dict[Want, Callable[[Node, Dialect], str]] = {Want.VALUE: render, Want.FINITE: _finite, Want.RAW: _plain}


def floor_div(value: str, step: str, dialect: Dialect) -> str:
    """`floor(value / step)` for integers, right for negative values on every engine."""
    return f"(({value} - {positive_mod(value, step)}) {dialect.int_division} {step})"


def positive_mod(value: str, step: str) -> str:
    """`value mod step` with the sign of the step."""
    return f"((({value} % {step}) + {step}) % {step})"


def floor_to(value: str, step: str) -> str:
    """The latest multiple of `step` that is not after `value`."""
    return f"({value} - {positive_mod(value, step)})"
