"""Spark standalone: a Master and a Worker, from the PySpark package."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from featuredsl.errors import DependencyError
from jobs.java import SMALL_JVM
from localstack.process import kept_ports
from localstack.service import HOST, Layout, Part, Service, get_json, python_path

WORKER_CORES = 4  # slots, not processors: two applications of two threads run side by side
WORKER_MEMORY = "3g"
# The submission server would listen on a fixed port, and nothing uses it.
_DAEMON_SETTINGS = {"spark.master.rest.enabled": "false", "spark.worker.cleanup.enabled": "true"}


def spark_home() -> Path:
    """The folder of the Spark distribution inside the PySpark package."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        msg = "PySpark is not installed: install `featuredsl[spark]`"
        raise DependencyError(msg)
    return Path(spec.submodule_search_locations[0])


def spark(layout: Layout) -> Part:
    """Master and Worker on ports that are kept between starts; its address is the master URL."""
    port, master_web, worker_web = kept_ports(layout.folder("spark") / "ports", 3)
    url, web = f"spark://{HOST}:{port}", f"http://{HOST}:{master_web}"
    home = spark_home()
    env = {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(layout.folder("spark", "conf")),
        "SPARK_LOCAL_DIRS": str(layout.folder("spark", "local")),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join((*layout.java_options(), *SMALL_JVM)),
        "PYSPARK_PYTHON": sys.executable,
        "PATH": python_path(),
        "TMPDIR": str(layout.scratch),
        "TZ": "UTC",
    }
    launch = ("bash", str(home / "bin" / "spark-class"))
    master = Service(
        "spark-master",
        (*launch, "org.apache.spark.deploy.master.Master", *_options(port=port, webui_port=master_web)),
        env,
        lambda: None if get_json(f"{web}/json/") else f"the Master at {web} does not answer",
        gate=True,
    )
    worker_options = _options(
        webui_port=worker_web,
        cores=WORKER_CORES,
        memory=WORKER_MEMORY,
        work_dir=layout.folder("spark", "work"),
    )
    worker = Service(
        "spark-worker",
        (*launch, "org.apache.spark.deploy.worker.Worker", *worker_options, url),
        env,
        lambda: probe_spark(web),
    )

    def prepare() -> None:
        settings = "".join(f"{name} {value}\n" for name, value in _DAEMON_SETTINGS.items())
        (Path(env["SPARK_CONF_DIR"]) / "spark-defaults.conf").write_text(settings, encoding="utf-8")

    return Part("spark", prepare, (master, worker), url, {"Spark": web})


def _options(**values: object) -> tuple[str, ...]:
    given = {"host": HOST, **values}
    return tuple(text for name, value in given.items() for text in (f"--{name.replace('_', '-')}", str(value)))


def probe_spark(web: str) -> str | None:
    """None when the Master answers and its Worker has registered."""
    state = get_json(f"{web}/json/")
    if state is None:
        return f"the Master at {web} does not answer"
    return None if state["aliveworkers"] else f"no Worker has registered with the Master at {web}"
