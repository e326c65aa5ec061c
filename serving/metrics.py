"""Prometheus metrics of one service. Labels never hold entity ids, request ids or action ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STAGES = ("parse", "features", "assembly", "inference", "respond", "total")
_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)


class Metrics:
    """All series of one service, in a registry of their own."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        ProcessCollector(registry=registry)
        self.decisions = Counter(
            "featuredsl_decisions",
            "Decide requests by outcome.",
            ("model_version", "outcome"),
            registry=registry,
        )
        self.fallbacks = Counter("featuredsl_fallbacks", "Degraded answers by reason.", ("flag",), registry=registry)
        self._seconds = Histogram(
            "featuredsl_decide_seconds",
            "Time of a decision by stage.",
            ("stage",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._stages = {stage: self._seconds.labels(stage) for stage in STAGES}
        self.inflight = Gauge("featuredsl_inflight", "Decisions in progress.", registry=registry)
        self.feature_failures = Counter(
            "featuredsl_feature_read_failures",
            "Feature reads that gave nothing.",
            ("reason",),
            registry=registry,
        )
        self.breaker_open = Gauge(
            "featuredsl_feature_breaker_open", "1 while feature reads are not tried.", registry=registry
        )
        self.swaps = Counter("featuredsl_model_swaps", "Models put in service.", registry=registry)
        self.reload_failures = Counter(
            "featuredsl_model_reload_failures", "Artefacts refused or unreadable.", registry=registry
        )
        self.model_info = Gauge(
            "featuredsl_model_info", "1 for the version in service.", ("model", "version"), registry=registry
        )
        self.log_records = Counter(
            "featuredsl_log_records", "Records handed to the log queue.", ("record",), registry=registry
        )
        self.log_dropped = Counter(
            "featuredsl_log_dropped", "Records lost by the log.", ("record", "reason"), registry=registry
        )
        self.log_queue = Gauge("featuredsl_log_queue", "Records that wait for Kafka.", registry=registry)
        self.catalog_actions = Gauge("featuredsl_catalog_actions", "Actions in the catalog.", registry=registry)
        self.catalog_rejected = Counter(
            "featuredsl_catalog_rejected", "Catalog records refused.", ("reason",), registry=registry
        )

    def observe(self, stages_ms: Mapping[str, float]) -> None:
        """Record one decision's stages, given in milliseconds."""
        for stage, milliseconds in stages_ms.items():
            self._stages[stage].observe(milliseconds / 1_000)

    def count_fallbacks(self, flags: Iterable[str]) -> None:
        """Count every reason for which an answer was degraded."""
        for flag in flags:
            self.fallbacks.labels(flag).inc()

    def exposition(self) -> bytes:
        """The metrics in the Prometheus text format."""
        return generate_latest(self._registry)
