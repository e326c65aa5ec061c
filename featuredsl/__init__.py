"""One definition of a feature, the same value on every engine."""

from __future__ import annotations

from featuredsl.decorators import feature, feature_group, on_demand
from featuredsl.sources import EventSource
from featuredsl.trace import ratio
from featuredsl.windows import window

__all__ = ["EventSource", "feature", "feature_group", "on_demand", "ratio", "window"]
