"""A Flink session cluster: JobManager and TaskManager as separate processes, from the PyFlink package."""

from __future__ import annotations

import shutil
import sys

from jobs.flink.distribution import flink_home, java_exports
from jobs.java import SMALL_JVM
from localstack.process import kept_ports
from localstack.service import HOST, Layout, Part, Service, get_json, python_path

SLOTS = 8
JOBMANAGER_MEMORY = "1200m"
TASKMANAGER_MEMORY = "2304m"
_CONF_FILES = ("log4j-console.properties", "log4j-cli.properties")


def flink(layout: Layout) -> Part:
    """The session cluster on ports that are kept between starts; its address is the REST URL."""
    rpc, rest = kept_ports(layout.folder("flink") / "ports", 2)
    url = f"http://{HOST}:{rest}"
    home, conf = flink_home(), layout.folder("flink", "conf")
    env = {
        "FLINK_HOME": str(home),
        "FLINK_CONF_DIR": str(conf),
        "FLINK_LOG_DIR": str(layout.logs),
        "PATH": python_path(),
        "TMPDIR": str(layout.scratch),
        "TZ": "UTC",
    }

    def prepare() -> None:
        for name in _CONF_FILES:
            shutil.copy(home / "conf" / name, conf / name)
        (conf / "config.yaml").write_text(_config(layout, rpc, rest), encoding="utf-8")

    def start(script: str) -> tuple[str, ...]:
        return ("bash", str(home / "bin" / script), "start-foreground")

    jobmanager = Service("flink-jobmanager", start("jobmanager.sh"), env, lambda: _rest_missing(url))
    taskmanager = Service("flink-taskmanager", start("taskmanager.sh"), env, lambda: probe_flink(url))
    return Part("flink", prepare, (jobmanager, taskmanager), url, {"Flink": url})


def probe_flink(url: str) -> str | None:
    """None when the JobManager answers and a TaskManager offers its slots."""
    overview = get_json(f"{url}/overview")
    if overview is None:
        return f"the JobManager at {url} does not answer"
    if overview["slots-total"] < SLOTS:
        return f"the JobManager has {overview['slots-total']} of {SLOTS} slots"
    return None


def _rest_missing(url: str) -> str | None:
    return None if get_json(f"{url}/overview") else f"the JobManager at {url} does not answer"


def _config(layout: Layout, rpc: int, rest: int) -> str:
    scratch = layout.folder("flink", "tmp")
    options = " ".join((java_exports(), *layout.java_options()))
    values = {
        "env.java.opts.all": options,
        "env.java.opts.jobmanager": " ".join(SMALL_JVM),
        "jobmanager.rpc.address": HOST,
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": HOST,
        "jobmanager.memory.process.size": JOBMANAGER_MEMORY,
        "rest.address": HOST,
        "rest.bind-address": HOST,
        "rest.port": rest,
        "rest.bind-port": rest,
        "web.submit.enable": "false",
        "web.cancel.enable": "true",
        "taskmanager.host": HOST,
        "taskmanager.bind-host": HOST,
        "taskmanager.numberOfTaskSlots": SLOTS,
        "taskmanager.memory.process.size": TASKMANAGER_MEMORY,
        "taskmanager.memory.jvm-metaspace.size": "512m",
        "taskmanager.memory.managed.fraction": 0.25,
        "cluster.registration.error-delay": "500 ms",
        "cluster.registration.initial-timeout": "500 ms",
        "pekko.ask.timeout": "60 s",
        # A process that is gone is noticed after two unanswered heartbeats; a slow one has the usual 50 s.
        "heartbeat.interval": "3 s",
        "metrics.fetcher.update-interval": 200,
        "classloader.check-leaked-classloader": "false",
        "io.tmp.dirs": scratch,
        "blob.storage.directory": scratch,
        "execution.checkpointing.dir": layout.folder("flink", "checkpoints").as_uri(),
        "execution.checkpointing.savepoint-dir": layout.folder("flink", "savepoints").as_uri(),
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
    }
    return "".join(f"{name}: {_yaml(value)}\n" for name, value in values.items())


def _yaml(value: object) -> str:
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
