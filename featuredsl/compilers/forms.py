"""The SQL form of each operation: how its arguments are wanted, and the text over them.

The forms are those on which Flink, Spark and DuckDB agree. What they avoid: GREATEST and LEAST (nulls), ROUND and
casts from double (NaN, ties), LOWER and UPPER (letters outside ASCII), LIKE (escapes), date functions (before 1970).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from featuredsl.compilers import overflow
from featuredsl.compilers.dialect import Dialect
from featuredsl.dtypes import ELEMENTS
from featuredsl.nodes import Call, Literal
from featuredsl.operations import EXP_LIMIT, INTEGER_TEXT, NUMBER_TEXT

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_MAX = "1.7976931348623157e308"
_TWO63 = "9.223372036854775808e18"
_EXACT = 2.0**53


class Want(Enum):
    """How a float argument is handed over."""

    VALUE = "as it is"
    FINITE = "null where it is not finite"
    RAW = "a computed one without its guard: the form guards itself, or what it is part of does"


Text = Callable[[Call, list[str], Dialect], str]


@dataclass(frozen=True, slots=True)
class Form:
    """`wants` belongs to the arguments in order; the last one repeats."""

    text: Text
    wants: tuple[Want, ...] = (Want.VALUE,)

    def want(self, position: int) -> Want:
        """How the argument at a position is wanted."""
        return self.wants[min(position, len(self.wants) - 1)]


def finite(value: str) -> str:
    """`value`, or null where it is NaN or infinite (engines order NaN differently, but all outside this range)."""
    return f"CASE WHEN {value} BETWEEN -{_MAX} AND {_MAX} THEN {value} END"


def _infix(symbol: str) -> Text:
    return lambda node, args, dialect: f"({args[0]} {symbol} {args[1]})"


def _by_type(integer: Text, real: Text) -> Text:
    return lambda node, args, dialect: (integer if node.dtype == "int" else real)(node, args, dialect)


def _divide(node: Call, args: list[str], dialect: Dialect) -> str:
    left, right = (f"CAST({arg} AS DOUBLE)" for arg in args)
    return f"({left} / NULLIF({right}, 0e0))"


def _sign(node: Call, args: list[str], dialect: Dialect) -> str:
    zero = "0e0" if node.args[0].dtype == "float" else "0"
    cases = f"WHEN {args[0]} > {zero} THEN 1 WHEN {args[0]} < {zero} THEN -1 WHEN {args[0]} = {zero} THEN 0"
    return f"CAST(CASE {cases} END AS BIGINT)"


def _in(node: Call, args: list[str], dialect: Dialect) -> str:
    if node.args[0].dtype == "float":
        return "(" + " OR ".join(f"({args[0]} = {arg})" for arg in args[1:]) + ")"
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _extreme(symbol: str) -> Text:
    def text(node: Call, args: list[str], dialect: Dialect) -> str:
        cases = [
            "WHEN "
            + " AND ".join([f"{one} IS NOT NULL", *(f"({x} IS NULL OR {one} {symbol} {x})" for x in args[i + 1 :])])
            + f" THEN {one}"
            for i, one in enumerate(args[:-1])
        ]
        return f"CASE {' '.join(cases)} ELSE {args[-1]} END"

    return text


def _integral(function: str) -> Text:
    """FLOOR, CEIL and their kin to BIGINT, null where the result does not fit."""

    def text(node: Call, args: list[str], dialect: Dialect) -> str:
        if node.args[0].dtype == "int":
            return args[0]
        return _within_int64(args[0], function.format(args[0]))

    return text


def _within_int64(value: str, text: str) -> str:
    return f"CASE WHEN {value} >= -{_TWO63} AND {value} < {_TWO63} THEN CAST({text} AS BIGINT) END"


def _round(node: Call, args: list[str], dialect: Dialect) -> str:
    value = args[0]
    if node.args[0].dtype == "int":
        return value
    if len(args) == 1:
        return _within_int64(value, f"FLOOR({value} + 5e-1)")
    digits = node.args[1]
    scale = 10.0**digits.value if isinstance(digits, Literal) and isinstance(digits.value, int) else 1.0
    factor, limit = (dialect.literal(Literal(number, "float")) for number in (scale, _EXACT / scale))
    return (
        f"CASE WHEN {value} BETWEEN -{limit} AND {limit} "
        f"THEN CAST(FLOOR({value} * {factor} + 5e-1) AS DOUBLE) / {factor} "
        f"WHEN {value} BETWEEN -{_MAX} AND {_MAX} THEN {value} END"
    )


def _domain(low: str, high: str, function: str) -> Text:
    return lambda node, args, dialect: (
        f"CASE WHEN {args[0]} {low} AND {args[0]} <= {high} THEN {function}({args[0]}) END"
    )


def _pow(node: Call, args: list[str], dialect: Dialect) -> str:
    return finite(f"POWER({args[0]}, {args[1]})")


def _to_int(node: Call, args: list[str], dialect: Dialect) -> str:
    value, dtype = args[0], node.args[0].dtype
    if dtype == "str":
        return f"CASE WHEN {dialect.matches(value, INTEGER_TEXT)} THEN CAST({value} AS BIGINT) END"
    if dtype == "bool":
        return f"CAST(CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END AS BIGINT)"
    return _integral("CASE WHEN {0} < 0e0 THEN CEIL({0}) ELSE FLOOR({0}) END")(node, args, dialect)


def _to_float(node: Call, args: list[str], dialect: Dialect) -> str:
    value, dtype = args[0], node.args[0].dtype
    if dtype == "str":
        return f"CASE WHEN {dialect.matches(value, NUMBER_TEXT)} THEN CAST({value} AS DOUBLE) END"
    if dtype == "bool":
        return f"CASE WHEN {value} THEN 1e0 WHEN NOT {value} THEN 0e0 END"
    return f"CAST({value} AS DOUBLE)"


def _to_str(node: Call, args: list[str], dialect: Dialect) -> str:
    value, dtype = args[0], node.args[0].dtype
    if dtype == "bool":
        true, false = (f"CAST('{text}' AS {dialect.string_type})" for text in ("true", "false"))
        return f"CASE WHEN {value} THEN {true} WHEN NOT {value} THEN {false} END"
    return value if dtype == "str" else f"CAST({value} AS {dialect.string_type})"


def _substring(node: Call, args: list[str], dialect: Dialect) -> str:
    start, length = _constants(node)
    return f"SUBSTRING({args[0]}, {int(start) + 1}, {length})"


def _starts_with(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"(SUBSTRING({args[0]}, 1, {len(_constants(node)[0])}) = {args[1]})"


def _ends_with(node: Call, args: list[str], dialect: Dialect) -> str:
    return f"(RIGHT({args[0]}, {len(_constants(node)[0])}) = {args[1]})"


def _spelled(**templates: str) -> Text:
    """The same function under each engine's name."""
    return lambda node, args, dialect: templates[dialect.name].format(*args)


_ARRAY_LENGTH = _spelled(
    flink="CAST(CARDINALITY({0}) AS BIGINT)",
    spark="CAST(array_size({0}) AS BIGINT)",
    duckdb="CAST(array_length({0}) AS BIGINT)",
)
_ELEMENT = _spelled(flink="({0})[{1} + 1]", spark="get({0}, {1})", duckdb="list_extract({0}, {1} + 1)")
_MAX_INDEX = 2**31 - 2


def _at(node: Call, args: list[str], dialect: Dialect) -> str:
    array, index = args
    constant = node.args[1].value if isinstance(node.args[1], Literal) else None
    if isinstance(constant, int):
        inside = 0 <= constant <= _MAX_INDEX
        return _ELEMENT(node, [array, str(constant)], dialect) if inside else dialect.literal(Literal(None, node.dtype))
    within = f"{index} >= 0 AND {index} < {_ARRAY_LENGTH(node, [array], dialect)}"
    return f"CASE WHEN {within} THEN {_ELEMENT(node, [array, f'CAST({index} AS INT)'], dialect)} END"


_ARRAY_HAS = _spelled(
    flink="ARRAY_CONTAINS({0}, {1})", spark="array_contains({0}, {1})", duckdb="list_contains({0}, {1})"
)


def _array_contains(node: Call, args: list[str], dialect: Dialect) -> str:
    element = dialect.type_name(ELEMENTS[node.args[0].dtype])
    text = _ARRAY_HAS(node, [args[0], f"CAST({args[1]} AS {element})"], dialect)
    constant = isinstance(node.args[1], Literal) and node.args[1].value is not None
    return text if constant else f"CASE WHEN {args[1]} IS NOT NULL THEN {text} END"


def _constants(node: Call) -> list[str]:
    return [str(arg.value) for arg in node.args[1:] if isinstance(arg, Literal)]


def _format(template: str) -> Text:
    return lambda node, args, dialect: template.format(*args)


_COMPARE = (Want.FINITE,)
_RAW = (Want.RAW,)
FORMS: dict[str, Form] = {
    "+": Form(_by_type(overflow.add, _infix("+")), _RAW),
    "-": Form(_by_type(overflow.subtract, _infix("-")), _RAW),
    "*": Form(_by_type(overflow.multiply, _infix("*")), _RAW),
    "/": Form(_divide, (Want.RAW, Want.FINITE)),
    "//": Form(overflow.floor_div),
    "%": Form(overflow.modulo),
    "neg": Form(_by_type(overflow.negate, _format("(-({0}))")), _RAW),
    "abs": Form(_by_type(overflow.absolute, _format("ABS({0})")), _RAW),
    "sign": Form(_sign, _COMPARE),
    "==": Form(_infix("="), _COMPARE),
    "!=": Form(_infix("<>"), _COMPARE),
    "<": Form(_infix("<"), _COMPARE),
    "<=": Form(_infix("<="), _COMPARE),
    ">": Form(_infix(">"), _COMPARE),
    ">=": Form(_infix(">="), _COMPARE),
    "in": Form(_in, _COMPARE),
    "and": Form(_infix("AND")),
    "or": Form(_infix("OR")),
    "not": Form(_format("(NOT {0})")),
    "is_null": Form(_format("({0} IS NULL)")),
    "is_nan": Form(lambda node, args, dialect: f"(CAST({args[0]} AS {dialect.string_type}) IN ('NaN', 'nan'))"),
    "is_finite": Form(_format(f"({{0}} BETWEEN -{_MAX} AND {_MAX})")),
    "finite": Form(_format("{0}"), _COMPARE),
    "coalesce": Form(lambda node, args, dialect: f"COALESCE({', '.join(args)})"),
    "if_else": Form(_format("CASE WHEN {0} THEN {1} ELSE {2} END")),
    "min_of": Form(_extreme("<="), _COMPARE),
    "max_of": Form(_extreme(">="), _COMPARE),
    "round": Form(_round, _RAW),
    "floor": Form(_integral("FLOOR({0})"), _RAW),
    "ceil": Form(_integral("CEIL({0})"), _RAW),
    "sqrt": Form(_domain(">= 0e0", _MAX, "SQRT"), _RAW),
    "ln": Form(_domain("> 0e0", _MAX, "LN"), _RAW),
    "exp": Form(_domain(f">= -{_MAX}", f"{EXP_LIMIT!r}e0", "EXP"), _RAW),
    "pow": Form(_pow, _COMPARE),
    "to_int": Form(_to_int, _RAW),
    "to_float": Form(_to_float),
    "to_str": Form(_to_str),
    "lower": Form(_format(f"TRANSLATE({{0}}, '{_UPPER}', '{_LOWER}')")),
    "upper": Form(_format(f"TRANSLATE({{0}}, '{_LOWER}', '{_UPPER}')")),
    "length": Form(_format("CAST(CHAR_LENGTH({0}) AS BIGINT)")),
    "concat": Form(lambda node, args, dialect: f"({' || '.join(args)})"),
    "substring": Form(_substring),
    "starts_with": Form(_starts_with),
    "ends_with": Form(_ends_with),
    "contains": Form(_format("(POSITION({1} IN {0}) > 0)")),
    "replace": Form(_format("REPLACE({0}, {1}, {2})")),
    "trim": Form(_format("TRIM(BOTH ' ' FROM {0})")),
    "floor_time": Form(overflow.floor_time),
    "array_length": Form(_ARRAY_LENGTH),
    "at": Form(_at),
    "array_contains": Form(_array_contains, (Want.VALUE, Want.FINITE)),
    "min_element": Form(_spelled(flink="ARRAY_MIN({0})", spark="array_min({0})", duckdb="list_min({0})")),
    "max_element": Form(_spelled(flink="ARRAY_MAX({0})", spark="array_max({0})", duckdb="list_max({0})")),
}
