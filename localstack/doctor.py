"""What a machine needs for the stack: each check says what is wrong and what to do about it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from featuredsl.errors import FeatureError
from jobs.flink.distribution import flink_home
from jobs.java import java
from localstack.redis_server import redis_binary
from localstack.service import Layout
from localstack.spark import spark_home
from localstack.stack import status

MEMORY_GIB = 8
DISK_GIB = 4


@dataclass(frozen=True, slots=True)
class Check:
    """The answer of one check; `detail` is what was found, or what to do."""

    name: str
    ok: bool
    detail: str


def diagnose(layout: Layout) -> list[Check]:
    """Run all checks; none of them changes anything."""
    checks: list[tuple[str, Callable[[Layout], str]]] = [
        ("python", _python),
        ("java", _java),
        ("memory", _memory),
        ("disk", _disk),
        ("jars", _jars),
        ("redis", lambda found: redis_binary(found.jars)[0]),
        ("pyflink", _pyflink),
        ("pyspark", lambda _: f"{version('pyspark')} in {spark_home()}"),
        ("setuptools", _setuptools),
    ]
    return [_run(name, check, layout) for name, check in checks] + _stack(layout)


def _run(name: str, check: Callable[[Layout], str], layout: Layout) -> Check:
    try:
        return Check(name, True, check(layout))
    except (FeatureError, PackageNotFoundError, OSError, subprocess.SubprocessError) as error:
        return Check(name, False, str(error))


def _stack(layout: Layout) -> list[Check]:
    """A stack that is not started is fine; a part that is broken is not."""
    return [
        Check(f"stack {one.part}", one.state != "broken", one.detail or f"{one.state} {one.address}".strip())
        for one in status(layout)
    ]


def _require(condition: bool, advice: str) -> None:
    if not condition:
        raise FeatureError(advice)


def _python(_: Layout) -> str:
    found = ".".join(map(str, sys.version_info[:3]))
    _require(sys.version_info[:2] == (3, 11), f"Python is {found}: PyFlink 2.2 with our pins needs 3.11")
    return found


def _java(_: Layout) -> str:
    done = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True, timeout=30)
    found = re.search(r'version "(\d+)', done.stderr)
    _require(found is not None and found.group(1) == "17", f"java is {done.stderr.splitlines()[0]}: use JDK 17")
    return done.stderr.splitlines()[0]


def _memory(_: Layout) -> str:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    _require(gib >= MEMORY_GIB, f"{gib:.0f} GiB of memory: the whole stack needs {MEMORY_GIB}; use `up --only`")
    return f"{gib:.0f} GiB"


def _disk(layout: Layout) -> str:
    folder = next(path for path in (layout.home, *layout.home.parents) if path.exists())
    gib = shutil.disk_usage(folder).free / 2**30
    _require(gib >= DISK_GIB, f"{gib:.0f} GiB free at {folder}: checkpoints and logs need {DISK_GIB}")
    return f"{gib:.0f} GiB free"


def _jars(layout: Layout) -> str:
    wanted = {
        "kafka": "kafka_2.13-*.jar",
        "flink": "flink-sql-connector-kafka-*.jar",
        "spark": "spark-sql-kafka-0-10_2.13-*.jar",
    }
    missing = [name for name, pattern in wanted.items() if not any((layout.jars / name).glob(pattern))]
    if not (layout.jars / "flink" / "featuredsl-flink-connector.jar").exists():
        missing.append("flink/featuredsl-flink-connector.jar")
    _require(not missing, f"no {', '.join(missing)} in {layout.jars}: run `./run setup` or set FEATUREDSL_JARS")
    return str(layout.jars)


def _pyflink(layout: Layout) -> str:
    found = version("apache-flink")
    connectors = [path.stem for path in (layout.jars / "flink").glob("flink-sql-connector-kafka-*.jar")]
    wrong = [name for name in connectors if not name.endswith(".".join(found.split(".")[:2]))]
    _require(not wrong, f"{' '.join(wrong)} is not for Flink {found}: run `./run setup`")
    _require(find_spec("pemja") is not None, "pemja is missing: install `featuredsl[flink]` again")
    return f"{found} in {flink_home()}"


def _setuptools(_: Layout) -> str:
    found = version("setuptools")
    _require(int(found.split(".")[0]) < 82, f"setuptools {found} has no pkg_resources, Beam needs it: use < 82")
    return found
