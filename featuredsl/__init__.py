"""One definition of a feature, the same value on every engine."""

from __future__ import annotations

from featuredsl.combining import union
from featuredsl.decorators import feature, feature_group, on_demand
from featuredsl.sources import EventSource, TableSource
from featuredsl.trace import coalesce, if_else, max_of, min_of, when
from featuredsl.traced import ratio
from featuredsl.windows import lifetime, session, tumbling, window

__all__ = [
    "EventSource",
    "TableSource",
    "coalesce",
    "feature",
    "feature_group",
    "if_else",
    "lifetime",
    "max_of",
    "min_of",
    "on_demand",
    "ratio",
    "session",
    "tumbling",
    "union",
    "when",
    "window",
]
