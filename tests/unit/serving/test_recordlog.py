from __future__ import annotations

import time

from schemas import topics
from serving.metrics import Metrics
from serving.recordlog import KafkaSink

NOBODY = "127.0.0.1:1"


def value(metrics: Metrics, series: str) -> float:
    lines = metrics.exposition().decode().splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{series} "))


def test_without_kafka_the_queue_fills_drops_are_counted_and_nothing_blocks() -> None:
    metrics = Metrics()
    sink = KafkaSink(NOBODY, "x_", 10, metrics)
    started = time.monotonic()
    accepted = [sink.send(topics.PREDICTIONS, f"r{number}", {"n": number}) for number in range(50)]
    assert time.monotonic() - started < 5.0
    assert accepted == [True] * 10 + [False] * 40
    sink.poll()
    assert value(metrics, 'featuredsl_log_dropped_total{reason="queue_full",record="predictions"}') == 40
    assert value(metrics, 'featuredsl_log_records_total{record="predictions"}') == 10
    assert value(metrics, "featuredsl_log_queue") >= 10
    assert sink.flush(0.05) >= 10
    assert value(metrics, 'featuredsl_log_dropped_total{reason="not_flushed",record="all"}') >= 10


def test_a_record_that_is_too_large_is_dropped_and_counted() -> None:
    metrics = Metrics()
    sink = KafkaSink(NOBODY, "", 10, metrics)
    assert sink.send(topics.IMPRESSIONS, "r", {"text": "x" * 2_000_000}) is False
    assert value(metrics, 'featuredsl_log_dropped_total{reason="refused",record="impressions"}') == 1
