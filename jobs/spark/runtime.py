"""Spark sessions: how ours are configured, where they log, how our code reaches the executors."""

from __future__ import annotations

import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import featuredsl
import jobs
import schemas
from featuredsl.errors import DependencyError
from featuredsl.settings import Settings
from jobs.wait import wait_until

LOG_LAYOUT = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}{UTC} %p %c{1}: %m%n%ex"
JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m -Xms512m -Xmn256m -XX:-UsePerfData "
    "-Duser.timezone=UTC"
)
"""Short jobs: no second compiler, no collections while classes load."""
EXECUTOR_TIMEOUT_S = 240.0
REACH_TIMEOUT_S = 5.0
_CLUSTER = "spark://"
SHIPPED = (featuredsl, schemas, jobs)
SHIPPED_SUFFIXES = frozenset({".py", ".json", ".lua"})


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """One application: `master` is `spark://host:port` or `local[n]`; `work` holds logs and scratch files."""

    master: str
    work: Path
    jars: Path | None = None
    app: str = "featuredsl"
    shuffle_partitions: int = 4
    driver_memory: str = "768m"
    executor_memory: str = "896m"
    max_cores: int = 2
    executor_python: str = sys.executable

    @classmethod
    def of(cls, settings: Settings, app: str) -> SparkConfig:
        """For the cluster that `settings` names; raises DependencyError when it names none."""
        return cls(settings.require("spark"), settings.home, settings.jars / "spark", app)

    def conf(self) -> dict[str, str]:
        """Spark properties: UTC, ANSI SQL, no UI, loopback only unless the master is elsewhere."""
        values = {
            "spark.master": self.master,
            "spark.app.name": self.app,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.driver.memory": self.driver_memory,
            "spark.executor.memory": self.executor_memory,
            "spark.cores.max": str(self.max_cores),
            "spark.driver.extraJavaOptions": f"{self._jvm_options} -Dlog4j2.configurationFile={self._log_config}",
            "spark.executor.extraJavaOptions": self._jvm_options,
            "spark.pyspark.python": self.executor_python,
            "spark.pyspark.driver.python": self.executor_python,
            "spark.local.dir": str(self._scratch),
            "spark.sql.warehouse.dir": (self.work / "spark" / "warehouse").as_uri(),
        }
        if self.is_loopback:
            values |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if self.jars is not None:
            values["spark.jars"] = ",".join(str(jar) for jar in self._jar_files())
        return values

    @property
    def is_loopback(self) -> bool:
        """True when the executors run on this machine."""
        return self.master.startswith(("local", "spark://127.0.0.1", "spark://localhost"))

    @property
    def log_file(self) -> Path:
        """Where the driver logs."""
        return self.work / "logs" / "spark-driver.log"

    @property
    def _scratch(self) -> Path:
        return self.work / "spark" / "scratch"

    @property
    def _jvm_options(self) -> str:
        """Temporary files stay under `work` where the executors run on this machine."""
        return f'{JVM_OPTIONS} "-Djava.io.tmpdir={self._scratch}"' if self.is_loopback else JVM_OPTIONS

    @property
    def _log_config(self) -> str:
        return (self.work / "spark" / "log4j2.properties").as_uri()

    def _jar_files(self) -> list[Path]:
        found = sorted(self.jars.glob("*.jar")) if self.jars is not None else []
        if not found:
            msg = f"no Kafka package for Spark in {self.jars}: run `./run setup`, or set FEATUREDSL_JARS"
            raise DependencyError(msg)
        return found


@contextmanager
def session(config: SparkConfig) -> Iterator[SparkSession]:
    """A session that is stopped at the end; raises DependencyError when the master cannot be reached.

    The JVM of the driver is started once per process and ends with it.
    """
    _reach(config.master)
    _prepare(config)
    conf = SparkConf()
    conf.setAll(list(config.conf().items()))
    try:
        context = SparkContext(conf=conf, gateway=_gateway(conf, config))
    except Exception as error:
        msg = f"no Spark application on {config.master} ({_first_line(error)}); log: {config.log_file}"
        raise DependencyError(msg) from error
    try:
        if not config.master.startswith("local"):
            context.addPyFile(str(_package_zip(config.work)))
            _await_executor(context, config)
        yield SparkSession(context)
    finally:
        context.stop()


def _reach(master: str) -> None:
    """Spark itself asks a Master that is away for a minute, without a word."""
    if not master.startswith(_CLUSTER):
        return
    for address in master.removeprefix(_CLUSTER).split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT_S).close()
        except (OSError, ValueError):
            continue
        return
    msg = f"no Spark Master answers at {master}: run `featuredsl up`, or set FEATUREDSL_SPARK"
    raise DependencyError(msg)


def _await_executor(context: SparkContext, config: SparkConfig) -> None:
    """A job on a cluster without a free executor would wait for ever, without a word."""

    def missing() -> str | None:
        known: int = context._jsc.sc().getExecutorMemoryStatus().size()
        return None if known > 1 else f"no Worker gave an executor; see the Master's page and {config.log_file}"

    wait_until(missing, EXECUTOR_TIMEOUT_S, f"Spark on {config.master}")


def _gateway(conf: SparkConf, config: SparkConfig) -> JavaGateway:
    running: JavaGateway | None = SparkContext._gateway
    if running is not None:
        return running
    os.environ["PYSPARK_PYTHON"] = config.executor_python
    with config.log_file.open("ab") as log:
        options: dict[str, Any] = {"stdout": log, "stderr": log}
        gateway: JavaGateway = launch_gateway(conf, popen_kwargs=options)
    return gateway


def _prepare(config: SparkConfig) -> None:
    for folder in ("logs", "spark/scratch", "spark/warehouse"):
        (config.work / folder).mkdir(parents=True, exist_ok=True)
    lines = (
        "rootLogger.level=warn",
        "rootLogger.appenderRef.file.ref=file",
        "appender.file.type=File",
        "appender.file.name=file",
        f"appender.file.fileName={config.log_file}",
        "appender.file.layout.type=PatternLayout",
        f"appender.file.layout.pattern={LOG_LAYOUT}",
    )
    (config.work / "spark" / "log4j2.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _package_zip(work: Path) -> Path:
    """Our pure packages as one archive for the executors, which may have another release installed."""
    target = work / "spark" / "featuredsl_code.zip"
    staging = target.with_name(f"{target.stem}.{os.getpid()}.zip")
    with zipfile.ZipFile(staging, "w") as archive:
        for package in SHIPPED:
            root = Path(package.__path__[0])
            for path in sorted(root.rglob("*")):
                if path.suffix in SHIPPED_SUFFIXES:
                    archive.write(path, path.relative_to(root.parent))
    staging.replace(target)
    return target


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
