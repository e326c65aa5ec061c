"""Submit a job module to a Flink session cluster, shipped as the wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from featuredsl.errors import DependencyError, FeatureError
from featuredsl.settings import Settings
from jobs.flink.distribution import client_command, client_environment, flink_home
from jobs.flink.handle import JobHandle
from jobs.flink.rest import call, root_cause
from jobs.wheel import wheel

SUBMIT_TIMEOUT_S = 300
JOB_ID = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")


def submit(job_module: str, config: Mapping[str, Any], settings: Settings, *, restore: str = "") -> JobHandle:
    """Run `job_module` on the cluster with `config`, and return once Flink has accepted the job.

    `config` must be JSON; `name` (default: the module's last part), `group_id` and `topics` are used here, and
    `jars` and `checkpoint_dir` get defaults. `restore` is a savepoint or checkpoint to start from, default: empty.
    The configuration and the client's output are kept under `<home>/flink/client/<name>` and `<home>/logs`. Raises
    DependencyError when the cluster does not answer, FeatureError with the root cause when the job is refused.
    """
    url = settings.require("flink")
    call(url, "/overview")
    name = str(config.get("name", job_module.rpartition(".")[2]))
    full = {
        "name": name,
        "jars": flink_jars(settings),
        "checkpoint_dir": checkpoint_dir(settings),
        **config,
    }
    folder = _client_folder(settings, name)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(full, indent=2) + "\n", encoding="utf-8")
    output = _run_client(job_module, path, settings, restore)
    found = JOB_ID.search(output)
    if found is None:
        raise _refused(name, output, settings.logs / f"submit-{name}.log")
    return JobHandle(
        job_id=found.group(1),
        name=name,
        url=url,
        kafka=str(full.get("kafka", "")),
        group_id=str(full.get("group_id", "")),
        topics=tuple(full.get("topics", ())),
    )


def checkpoint_dir(settings: Settings) -> str:
    """Where jobs keep their checkpoints unless their configuration says otherwise."""
    return (settings.home / "flink" / "checkpoints").as_uri()


def flink_jars(settings: Settings) -> list[str]:
    """URLs of the jars that every job gets. Raises DependencyError when they were not built."""
    jars = sorted((settings.jars / "flink").glob("*.jar"))
    if not jars:
        msg = f"no jars in {settings.jars / 'flink'}: run `./run setup` or set FEATUREDSL_JARS"
        raise DependencyError(msg)
    return [jar.resolve().as_uri() for jar in jars]


def _client_folder(settings: Settings, name: str) -> Path:
    """The client's working folder: away from any source tree, whose modules would win over the wheel.

    One for each job: clients that run beside each other must not rewrite each other's configuration.
    """
    folder = settings.home / "flink" / "client" / name
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    settings.logs.mkdir(parents=True, exist_ok=True)
    shutil.copy(flink_home() / "conf" / "log4j-cli.properties", folder / "log4j-cli.properties")
    (folder / "config.yaml").write_text("rest.address: '127.0.0.1'\n", encoding="utf-8")
    return folder


def _run_client(job_module: str, config: Path, settings: Settings, restore: str) -> str:
    name, folder = config.stem, config.parent
    log = settings.logs / f"submit-{name}.log"
    address = urlsplit(settings.flink)
    command = [
        *client_command(folder, settings.logs / "flink-client.log", folder / "scratch"),
        "run",
        "--detached",
        "-t",
        "remote",
        f"-Drest.address={address.hostname}",
        f"-Drest.port={address.port}",
        *(("--fromSavepoint", restore) if restore else ()),
        "--pyExecutable",
        sys.executable,
        "--pyClientExecutable",
        sys.executable,
        "--pyFiles",
        str(wheel(settings)),
        "--pyModule",
        job_module,
        "--config",
        str(config),
    ]
    try:
        with log.open("w", encoding="utf-8") as output:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(folder),
                cwd=folder,
                timeout=SUBMIT_TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        msg = f"the Flink client did not submit {name} within {SUBMIT_TIMEOUT_S} s; log: {log}"
        raise DependencyError(msg) from error
    return log.read_text(encoding="utf-8", errors="replace")


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    return {
        **inherited,
        **client_environment(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "TMPDIR": str(folder / "scratch"),
        "TZ": "UTC",
    }


def _refused(name: str, output: str, log: Path) -> FeatureError:
    before_client = output.split("org.apache.flink.client.program.ProgramAbortException")[0]
    cause = root_cause(before_client) or "the client ended without a word"
    return FeatureError(f"Flink did not take the job {name}: {cause}; log: {log}")
