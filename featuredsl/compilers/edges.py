"""Edges in time as SQL: the query time of a tier, and the bounds of a window at it."""

from __future__ import annotations

from featuredsl.compilers.scalar import floor_to
from featuredsl.tiers import Edge, Tier


def edge(of: Edge, asked: str) -> str:
    """`floor(asked - back, step)`."""
    moved = f"({asked} - {of.back_us})" if of.back_us else asked
    return moved if of.step_us == 1 else floor_to(moved, str(of.step_us))


def query_time(tier: Tier) -> str:
    """The time that a label at `ts_us` is answered for."""
    return edge(tier.asked, "ts_us")
