"""SQL jobs on the real session cluster: shipped as the wheel, waited for exactly, failing with their cause."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from featuredsl.errors import DependencyError, FeatureError
from featuredsl.settings import Settings
from jobs.flink.handle import JobHandle, find_jobs
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics, producer, read_all
from localstack.process import free_ports
from tests.support.stack import TestStack
from tests.support.wait import until

JOB = "jobs.flink.sql_job"


@pytest.fixture(scope="module")
def settings(stack: TestStack) -> Settings:
    settings = stack.need("kafka", "flink")
    ensure_topics(settings.kafka, [f"{settings.prefix}{name}" for name in ("in", "out", "bad")])
    return settings


def config(settings: Settings, topic: str, insert: str) -> dict[str, Any]:
    server = f"'properties.bootstrap.servers'='{settings.kafka}'"
    group = f"{settings.prefix}{topic}-group"
    source = (
        f"CREATE TABLE source (k STRING, v STRING) WITH ('connector'='kafka', 'topic'='{settings.prefix}{topic}', "
        f"{server}, 'properties.group.id'='{group}', 'scan.startup.mode'='earliest-offset', 'format'='json')"
    )
    sink = (
        "CREATE TABLE sink (k STRING, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH "
        f"('connector'='upsert-kafka', 'topic'='{settings.prefix}out', {server}, 'key.format'='json', "
        "'value.format'='json')"
    )
    return {
        "name": f"{settings.prefix}{topic}",
        "kafka": settings.kafka,
        "group_id": group,
        "topics": [f"{settings.prefix}{topic}"],
        "statements": [source, sink, insert],
        "restart_attempts": 1,
    }


def send(settings: Settings, topic: str, values: list[tuple[str, str]]) -> None:
    out = producer(settings.kafka)
    for key, value in values:
        out.produce(f"{settings.prefix}{topic}", json.dumps({"k": key, "v": value}))
    out.flush()


def totals(settings: Settings) -> dict[str, tuple[int, int]]:
    rows = [json.loads(record.value or b"{}") for record in read_all(settings.kafka, f"{settings.prefix}out")]
    return {row["k"]: (row["n"], row["total"]) for row in rows}


SUMS = "INSERT INTO sink SELECT k, COUNT(*), SUM(CAST(v AS BIGINT)) FROM source GROUP BY k"


@pytest.fixture(scope="module")
def job(settings: Settings) -> Iterator[JobHandle]:
    handle = submit(JOB, config(settings, "in", SUMS), settings)
    handle.wait_running()
    yield handle
    handle.cancel()


def test_lag_zero_means_written(settings: Settings, job: JobHandle) -> None:
    expected: dict[str, tuple[int, int]] = {}
    for burst in range(3):
        values = [(f"k{i % 7}", str(i * (burst + 1))) for i in range(500)]
        for key, value in values:
            count, total = expected.get(key, (0, 0))
            expected[key] = (count + 1, total + int(value))
        send(settings, "in", values)
        job.wait_lag_zero()
        assert totals(settings) == expected
    assert job.state == "RUNNING"
    assert job.exceptions() == []


def test_the_wheel_runs_and_not_the_tree(settings: Settings, job: JobHandle) -> None:
    with pytest.raises(FeatureError, match="KeyError: 'statements'"):
        submit(JOB, {"name": "no-statements"}, settings)
    log = (settings.logs / "submit-no-statements.log").read_text()
    assert ".whl/jobs/flink/sql_job.py" in log


def test_a_wrong_statement_gives_its_cause(settings: Settings) -> None:
    with pytest.raises(FeatureError, match="Column 'nope' not found in any table"):
        submit(JOB, config(settings, "in", "INSERT INTO sink SELECT nope FROM source"), settings)


def test_a_job_that_fails_later_gives_its_cause(settings: Settings) -> None:
    send(settings, "bad", [("k", "not a number")])
    handle = submit(JOB, config(settings, "bad", SUMS), settings)
    until(lambda: handle.state == "FAILED", 120)
    for wait in (handle.check, handle.wait_running, handle.wait_lag_zero):
        with pytest.raises(FeatureError, match=r"is FAILED: .*NumberFormatException.*not a number"):
            wait()
    assert (handle.job_id, handle.name, "FAILED") in find_jobs(handle.url)
    handle.cancel()


def test_cancel_ends_the_job(settings: Settings) -> None:
    values = config(settings, "in", SUMS)
    handle = submit(JOB, {**values, "name": "to-cancel", "group_id": "to-cancel"}, settings)
    handle.cancel()
    assert handle.state == "CANCELED"
    with pytest.raises(FeatureError, match="is CANCELED"):
        handle.check()
    handle.cancel()


def test_no_cluster(settings: Settings) -> None:
    (port,) = free_ports(1)
    nowhere = Settings.load(home=settings.home, jars=settings.jars, flink=f"http://127.0.0.1:{port}")
    with pytest.raises(DependencyError, match="does not answer"):
        submit(JOB, {"name": "x", "statements": []}, nowhere)
