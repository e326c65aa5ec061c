"""Expression nodes to SQL text. The portable subset is spelled alike in every dialect; `Dialect` holds the rest.

Forms chosen so that Flink, Spark and DuckDB agree: floor division and modulo by the positive-modulo form,
divisors through NULLIF, double literals in E notation, ASCII-only lower, CASE instead of GREATEST/LEAST.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from featuredsl.dtypes import DType
from featuredsl.nodes import Call, Column, Literal, Node

UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the engines: quoting, string escapes, integer division, type names."""

    name: str
    quote: str
    backslash_escapes: bool
    int_division: str
    string_type: str

    def ident(self, name: str) -> str:
        """A quoted identifier."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def text(self, value: str) -> str:
        """A string literal."""
        escaped = value.replace("\\", "\\\\") if self.backslash_escapes else value
        return "'" + escaped.replace("'", "\\'" if self.backslash_escapes else "''") + "'"

    def type_name(self, dtype: DType) -> str:
        """The SQL type of a logical type."""
        return {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "str": self.string_type}[dtype]


FLINK = Dialect("flink", "`", False, "/", "STRING")
SPARK = Dialect("spark", "`", True, "div", "STRING")
DUCKDB = Dialect("duckdb", '"', False, "//", "VARCHAR")
DIALECTS = {dialect.name: dialect for dialect in (FLINK, SPARK, DUCKDB)}


def render(node: Node, dialect: Dialect) -> str:
    """SQL text of a node."""
    if isinstance(node, Column):
        name = dialect.ident(node.name)
        return f"{dialect.ident(node.table)}.{name}" if node.table else name
    if isinstance(node, Literal):
        return _literal(node, dialect)
    args = [render(arg, dialect) for arg in node.args]
    special = _FORMS.get(node.op)
    if special is not None:
        return special(node, args, dialect)
    if len(args) == 1:
        return f"{_PREFIX[node.op]}({args[0]})"
    return f"({args[0]} {_INFIX[node.op]} {args[1]})"


def _literal(node: Literal, dialect: Dialect) -> str:
    value = node.value
    if value is None:
        return f"CAST(NULL AS {dialect.type_name(node.dtype)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return dialect.text(value)
    if node.dtype == "float":
        return f"CAST({float(value)!r} AS DOUBLE)" if "e" in repr(float(value)) else f"{float(value)!r}e0"
    return f"CAST({value} AS BIGINT)"


def floor_div(value: str, step: str, dialect: Dialect) -> str:
    """`floor(value / step)` for integers, right for negative values on every engine."""
    return f"(({value} - {positive_mod(value, step)}) {dialect.int_division} {step})"


def positive_mod(value: str, step: str) -> str:
    """`value mod step` with the sign of the step."""
    return f"((({value} % {step}) + {step}) % {step})"


def floor_to(value: str, step: str) -> str:
    """The latest multiple of `step` that is not after `value`."""
    return f"({value} - {positive_mod(value, step)})"


def _divide(node: Call, args: list[str], dialect: Dialect) -> str:
    left, right = (f"CAST({arg} AS DOUBLE)" for arg in args)
    return f"({left} / NULLIF({right}, 0e0))"


def _floor_div(node: Call, args: list[str], dialect: Dialect) -> str:
    return floor_div(args[0], f"NULLIF({args[1]}, 0)", dialect)


def _modulo(node: Call, args: list[str], dialect: Dialect) -> str:
    return positive_mod(args[0], f"NULLIF({args[1]}, 0)")


def _in(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _is_null(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"({args[0]} IS NULL)"


def _coalesce(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"COALESCE({', '.join(args)})"


def _if_else(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"CASE WHEN {args[0]} THEN {args[1]} ELSE {args[2]} END"


def _to_float(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"CAST({args[0]} AS DOUBLE)"


def _sqrt(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"SQRT(CASE WHEN {args[0]} >= 0e0 THEN CAST({args[0]} AS DOUBLE) END)"


def _lower(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"TRANSLATE({args[0]}, '{UPPER}', '{LOWER}')"


_FORMS: dict[str, Callable[[Call, list[str], Dialect], str]] = {
    "/": _divide,
    "//": _floor_div,
    "%": _modulo,
    "in": _in,
    "is_null": _is_null,
    "coalesce": _coalesce,
    "if_else": _if_else,
    "to_float": _to_float,
    "lower": _lower,
    "sqrt": _sqrt,
}
_INFIX = {
    "+": "+",
    "-": "-",
    "*": "*",
    "==": "=",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "and": "AND",
    "or": "OR",
}
_PREFIX = {"neg": "-", "abs": "ABS", "not": "NOT "}
