"""One Spark session in this process for all tests that need no cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.spark.runtime import SparkConfig, session


@pytest.fixture(scope="session")
def local_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with two local threads, configured like the jobs."""
    with session(SparkConfig("local[2]", tmp_path_factory.mktemp("spark"))) as spark:
        yield spark
