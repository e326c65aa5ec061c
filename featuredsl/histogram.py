"""Counts of values between declared edges: sums of the ordinary algebra, given as one array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from featuredsl.aggregators import Aggregator, Merge
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Column, Literal, Node, call, literal

MOST_EDGES = 1000


def histogram_of(edges: Sequence[float]) -> Aggregator:
    """The aggregator for ascending edges e0 < e1 < … < en: counts of x < e0, e0 <= x < e1, …, en <= x.

    Nulls, NaN and infinities are in no bin. Raises DefinitionError for edges that are not finite ascending numbers.
    """
    marks = _checked(edges)

    def lifts(x: Node) -> tuple[tuple[Node, Merge], ...]:
        tests = [call("<", x, marks[0])]
        tests += [call("and", call(">=", x, low), call("<", x, high)) for low, high in pairwise(marks)]
        tests.append(call(">=", x, marks[-1]))
        one, none = Literal(1, "int"), Literal(None, "int")
        return tuple((call("if_else", test, one, none), "sum") for test in tests)

    def finalize(columns: tuple[Column, ...]) -> Node:
        return call("list_of", *(call("coalesce", column, Literal(0, "int")) for column in columns))

    return Aggregator("histogram", lifts, finalize)


def _checked(edges: Sequence[float]) -> list[Literal]:
    if isinstance(edges, str) or not isinstance(edges, Sequence) or not 1 <= len(edges) <= MOST_EDGES:
        raise DefinitionError(f"histogram() takes a list of 1 to {MOST_EDGES} edges, not {edges!r}")
    for edge in edges:
        if isinstance(edge, bool) or not isinstance(edge, int | float) or not math.isfinite(edge):
            raise DefinitionError(f"histogram() takes finite numbers as edges, not {edge!r}")
    for low, high in pairwise(edges):
        if not low < high:
            raise DefinitionError(f"histogram() takes ascending edges; {low!r} stands before {high!r}")
    return [literal(edge) for edge in edges]
