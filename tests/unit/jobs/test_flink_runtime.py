"""Options of Flink jobs, and the causes that we print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.flink.rest import root_cause
from jobs.flink.runtime import load_config, options
from jobs.flink.sql_job import statements
from jobs.flink.stream import Tuning

CONFIG = {"name": "n", "checkpoint_dir": "file:///c", "jars": []}


def test_defaults_are_safe() -> None:
    values = options(CONFIG)
    assert values["table.local-time-zone"] == "UTC"
    assert values["execution.checkpointing.dir"] == "file:///c"
    assert values["execution.checkpointing.interval"] == "10000 ms"
    assert values["table.exec.source.idle-timeout"] == "0 ms"
    assert values["table.exec.mini-batch.allow-latency"] == "50 ms"
    assert values["restart-strategy.type"] == "exponential-delay"
    assert values["restart-strategy.exponential-delay.attempts-before-reset-backoff"] == "8"
    assert all(isinstance(value, str) for value in values.values())


def test_configuration_wins() -> None:
    values = options({**CONFIG, "parallelism": 2, "mini_batch_ms": 0, "flink_options": {"a.b": "c"}})
    assert values["parallelism.default"] == "2"
    assert values["table.exec.mini-batch.enabled"] == "false"
    assert "table.exec.mini-batch.size" not in values
    assert values["a.b"] == "c"


def test_options_of_a_feature_job() -> None:
    values = options({**CONFIG, **Tuning(parallelism=3, mini_batch_ms=20).config()})
    assert values["parallelism.default"] == "3"
    assert values["table.exec.mini-batch.allow-latency"] == "20 ms"
    assert values["state.backend.type"] == "hashmap"
    assert options({**CONFIG, **Tuning(state_backend="rocksdb").config()})["state.backend.type"] == "rocksdb"


@pytest.mark.parametrize(
    ("mini_batch_ms", "events"), [(1, 5_000), (50, 5_000), (60, 6_000), (5_000, 500_000), (60_000, 500_000)]
)
def test_a_longer_mini_batch_may_gather_more_events(mini_batch_ms: int, events: int) -> None:
    assert options({**CONFIG, "mini_batch_ms": mini_batch_ms})["table.exec.mini-batch.size"] == str(events)


def test_no_restarts() -> None:
    values = options({**CONFIG, "restart_attempts": 0})
    assert values["restart-strategy.type"] == "none"
    assert not any("exponential" in name for name in values)


def test_a_job_without_a_checkpoint_folder_is_refused() -> None:
    with pytest.raises(KeyError, match="checkpoint_dir"):
        options({"name": "n"})


def test_config_file(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps({"statements": ["A", "B"]}))
    assert statements(load_config(["--config", str(path)])) == ["A", "B"]


JAVA = """org.apache.flink.runtime.JobException: Recovery is suppressed
\tat org.apache.flink.runtime.X.run(X.java:1)
Caused by: java.lang.RuntimeException: outer
\tat a.b.C.d(C.java:2)
Caused by: java.lang.NumberFormatException: For input string: 'x'
\t... 9 more
"""
PYTHON_IN_JAVA = """java.lang.Exception: Could not perform checkpoint
Caused by: org.apache.flink.python.PythonException: boom
Traceback (most recent call last):
  File "job.py", line 3, in f
ZeroDivisionError: division by zero
Caused by: java.lang.RuntimeException: Error received from SDK harness
"""
PYTHON = """Traceback (most recent call last):
  File "job.py", line 24, in <module>
featuredsl.errors.InputError: no group 'x'
"""


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        ("", ""),
        ("just a line", "just a line"),
        (JAVA, "java.lang.NumberFormatException: For input string: 'x'"),
        (
            PYTHON_IN_JAVA,
            "java.lang.RuntimeException: Error received from SDK harness (ZeroDivisionError: division by zero)",
        ),
        (PYTHON, "featuredsl.errors.InputError: no group 'x'"),
    ],
)
def test_root_cause(trace: str, cause: str) -> None:
    assert root_cause(trace) == cause
