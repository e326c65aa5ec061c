"""Integer operations as SQL that is null where the result does not fit in 64 bits.

DuckDB and Spark raise on overflow and Flink wraps silently, so nothing that may overflow is computed unguarded.
"""

from __future__ import annotations

from featuredsl.compilers.bounds import fits, int_range
from featuredsl.compilers.dialect import INT_MAX, INT_MIN, Dialect
from featuredsl.nodes import Call, Literal, Node
from featuredsl.operations import INT64_MAX, INT64_MIN

_MAX_STEP = 2**62


def add(node: Call, args: list[str], dialect: Dialect) -> str:
    """`a + b`."""
    left, right = args
    text = f"({left} + {right})"
    if fits(node):
        return text
    constant = _constant(node.args[1])
    if constant is None and _constant(node.args[0]) is not None:
        constant, left, right = _constant(node.args[0]), right, left
    if constant is not None:
        return _case(_leaves_room(left, constant), text)
    low = f"{INT_MIN} - CASE WHEN {right} < 0 THEN {right} ELSE 0 END"
    high = f"{INT_MAX} - CASE WHEN {right} > 0 THEN {right} ELSE 0 END"
    return _case(f"{left} BETWEEN {low} AND {high}", text)


def subtract(node: Call, args: list[str], dialect: Dialect) -> str:
    """`a - b`."""
    left, right = args
    text = f"({left} - {right})"
    if fits(node):
        return text
    constant, start = _constant(node.args[1]), _constant(node.args[0])
    if constant is not None:
        return _case(_leaves_room(left, -constant), text)
    if start is not None:
        limit = f"{right} >= {start - INT64_MAX}" if start >= 0 else f"{right} <= {start - INT64_MIN}"
        return _case(limit, text)
    low = f"{INT_MIN} + CASE WHEN {right} > 0 THEN {right} ELSE 0 END"
    high = f"{INT_MAX} + CASE WHEN {right} < 0 THEN {right} ELSE 0 END"
    return _case(f"{left} BETWEEN {low} AND {high}", text)


def multiply(node: Call, args: list[str], dialect: Dialect) -> str:
    """`a * b`."""
    left, right = args
    text = f"({left} * {right})"
    if fits(node):
        return text
    constant = _constant(node.args[1])
    if constant is None and _constant(node.args[0]) is not None:
        constant, left, right = _constant(node.args[0]), right, left
    if constant is not None:
        return _case(_within_factor(left, constant), text)
    div = dialect.int_division
    least, most = (f"({end} {div} NULLIF({right}, 0))" for end in (INT_MIN, INT_MAX))
    lowest = f"({INT_MIN} {div} NULLIF(NULLIF({right}, 0), -1))"
    return (
        f"CASE WHEN {right} > 0 THEN {_case(f'{left} BETWEEN {least} AND {most}', text)} "
        f"WHEN {right} < -1 THEN {_case(f'{left} BETWEEN {most} AND {lowest}', text)} "
        f"WHEN {right} = -1 THEN {_case(f'{left} > {INT_MIN}', text)} ELSE {text} END"
    )


def negate(node: Call, args: list[str], dialect: Dialect) -> str:
    """`-a`."""
    text = f"(-({args[0]}))"
    return text if fits(node) else _case(f"{args[0]} > {INT_MIN}", text)


def absolute(node: Call, args: list[str], dialect: Dialect) -> str:
    """`abs(a)`."""
    text = f"ABS({args[0]})"
    return text if fits(node) else _case(f"{args[0]} > {INT_MIN}", text)


def floor_div(node: Call, args: list[str], dialect: Dialect) -> str:
    """`floor(a / b)`; the engines' own integer division truncates."""
    left, right = args
    div = dialect.int_division
    step = _constant(node.args[1])
    if step is not None and step > 0:
        if int_range(node.args[0])[0] >= 0:
            return f"({left} {div} {right})"
        return f"(({left} {div} {right}) - CASE WHEN ({left} % {right}) < 0 THEN 1 ELSE 0 END)"
    rest = f"({left} % NULLIF({right}, 0))"
    quotient = f"({left} {div} NULLIF(NULLIF({right}, 0), -1))"
    return (
        f"CASE WHEN {right} = -1 THEN {_case(f'{left} > {INT_MIN}', f'(-({left}))')} "
        f"WHEN {_signs_differ(rest, right)} THEN {quotient} - 1 ELSE {quotient} END"
    )


def modulo(node: Call, args: list[str], dialect: Dialect) -> str:
    """`a mod b` with the sign of b; the engines' own has that of a."""
    left, right = args
    step = _constant(node.args[1])
    if step is not None and 0 < step <= _MAX_STEP:
        if int_range(node.args[0])[0] >= 0:
            return f"({left} % {right})"
        return f"((({left} % {right}) + {right}) % {right})"
    rest = f"({left} % NULLIF({right}, 0))"
    return f"CASE WHEN {_signs_differ(rest, right)} THEN {rest} + {right} ELSE {rest} END"


def floor_time(node: Call, args: list[str], dialect: Dialect) -> str:
    """The latest multiple of a step that is not after `us`."""
    value, step = args
    number = _constant(node.args[1]) or 1
    first = -(-INT64_MIN // number) * number
    text = f"({value} - ((({value} % {step}) + {step}) % {step}))"
    return _case(f"{value} >= {INT_MIN if first == INT64_MIN else first}", text)


def _constant(node: Node) -> int | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, int) else None


def _case(condition: str, text: str) -> str:
    return f"CASE WHEN {condition} THEN {text} END"


def _leaves_room(value: str, constant: int) -> str:
    """True when `value + constant` fits."""
    if constant > 0:
        return f"{value} <= {INT64_MAX - constant}" if constant <= INT64_MAX else f"{value} < 0"
    return f"{value} >= {INT64_MIN - constant}" if constant > INT64_MIN else f"{value} >= 0"


def _within_factor(value: str, constant: int) -> str:
    """True when `value * constant` fits; constants 0 and 1 always do."""
    if constant == -1:
        return f"{value} > {INT_MIN}"
    ends = sorted(_toward_zero(end, constant) for end in (INT64_MIN, INT64_MAX))
    return f"{value} BETWEEN {ends[0]} AND {ends[1]}"


def _toward_zero(value: int, divisor: int) -> int:
    quotient = abs(value) // abs(divisor)
    return quotient if (value < 0) == (divisor < 0) else -quotient


def _signs_differ(rest: str, divisor: str) -> str:
    return f"({rest} < 0 AND {divisor} > 0) OR ({rest} > 0 AND {divisor} < 0)"
