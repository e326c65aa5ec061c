"""One definition of a feature, the same value on every engine."""

from __future__ import annotations

from featuredsl.combining import union
from featuredsl.decorators import feature, feature_group, on_demand
from featuredsl.sources import EventSource, TableSource
from featuredsl.trace import coalesce, if_else, max_of, min_of, ratio, when
from featuredsl.windows import window

__all__ = [
    "EventSource",
    "TableSource",
    "coalesce",
    "feature",
    "feature_group",
    "if_else",
    "max_of",
    "min_of",
    "on_demand",
    "ratio",
    "union",
    "when",
    "window",
]
