"""Variance from sums alone, without cancellation: what any engine can add up, in any order and split.

Each value is cut into three pieces of at most 18 bits, x = h + m + l, by Veltkamp's splitting (Dekker 1971).
Products of such pieces are exact, and so are sums of up to 2^17 of them of one magnitude. The sum of squares
is then moved to a centre c near the mean *after* summing, where the large terms cancel exactly:

    sum (x - c)^2 = (sum h^2 - 2 c sum h + n c^2) + (sum 2hm - 2 c sum m) + (sum (x^2 - h^2 - 2hm) - 2 c sum l)

Error: 1e-9 relative where mean^2 / variance is up to 2^55 and a window holds up to 2^17 values; beyond, it grows
like that of a sum of doubles. Integers count as doubles. A value that is not finite, or beyond 1e100 in
magnitude, makes the result null.
"""

from __future__ import annotations

from featuredsl.nodes import Column, Literal, Node, call

HUGE = 1e100
_KEEP_18 = Literal(float(2**35 + 1), "float")
_KEEP_36 = Literal(float(2**17 + 1), "float")
_TWO = Literal(2.0, "float")
_NOISE = Literal(2.0**-84, "float")
"""Times n c^2: above what rounding leaves of equal values, which have variance 0, and far below the bound above."""
_REFUSED = Literal(-(2**40), "int")


def lifts(arg: Node, present: Node) -> tuple[Node, ...]:
    """n, sum h, sum m, sum l, sum h^2, sum 2hm and the rest of sum x^2: all merged by sum."""
    x = arg if arg.dtype == "float" else call("to_float", arg)
    high, top = _head(x, _KEEP_18), _head(x, _KEEP_36)
    middle, low = call("-", top, high), call("-", x, top)
    pieces = (
        high,
        middle,
        low,
        call("*", high, high),
        call("*", _TWO, call("*", high, middle)),
        call("+", call("*", middle, middle), call("*", low, call("+", x, top))),
    )
    if arg.dtype == "int":
        return (present, *pieces)
    usable = call("<", call("abs", x), Literal(HUGE, "float"))
    null = Literal(None, "float")
    counted = call("if_else", call("is_null", x), Literal(None, "int"), call("if_else", usable, present, _REFUSED))
    return (counted, *(call("if_else", usable, piece, null) for piece in pieces))


def variance(p: tuple[Column, ...], *, sample: bool) -> Node:
    """The variance over the partials of `lifts`: by n - 1 (null for fewer than two values), or by n."""
    n = call("to_float", p[0])
    c = _head(call("/", p[1], n), _KEEP_18)
    twice = call("*", _TWO, c)
    gap = call("-", p[1], call("*", n, c))
    top = call("-", call("-", p[4], call("*", c, p[1])), call("*", c, gap))
    rest = call("+", call("-", p[5], call("*", twice, p[2])), call("-", p[6], call("*", twice, p[3])))
    shift = call("+", gap, call("+", p[2], p[3]))
    squares = call("-", call("+", top, rest), call("/", call("*", shift, shift), n))
    value = call("/", squares, call("-", n, Literal(1.0, "float")) if sample else n)
    noise = call("*", call("*", c, c), call("*", n, _NOISE))
    clamped = call("if_else", call(">", value, noise), value, Literal(0.0, "float"))
    return call("if_else", call(">", p[0], Literal(1 if sample else 0, "int")), clamped, Literal(None, "float"))


def _head(x: Node, keep: Literal) -> Node:
    """x rounded to its leading bits; the two inner products round so that the rest cancels."""
    spread = call("*", keep, x)
    return call("-", spread, call("-", spread, x))
