"""The Flink distribution inside the PyFlink package: its folder, its JVM options, the client's command line."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from featuredsl.errors import DependencyError
from jobs.java import SMALL_JVM, java

CLIENT_CLASS = "org.apache.flink.client.cli.CliFrontend"


def flink_home() -> Path:
    """The folder with bin, conf, lib and opt. Raises DependencyError without PyFlink."""
    spec = find_spec("pyflink")
    if spec is None or not spec.submodule_search_locations:
        msg = "PyFlink is not installed: install `featuredsl[flink]`"
        raise DependencyError(msg)
    return Path(spec.submodule_search_locations[0])


def java_exports() -> str:
    """The JVM options that the distribution ships; without them user code fails on JDK 17."""
    path = flink_home() / "conf" / "config.yaml"
    found = re.search(r"^ +all: (--add-exports=.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        msg = f"{path} has no env.java.opts.all; the PyFlink package is not the one expected"
        raise DependencyError(msg)
    return found.group(1)


def client_command(conf: Path, log: Path, scratch: Path) -> list[str]:
    """The Flink client without its shell script, which would start another JVM to read the configuration."""
    log4j = conf / "log4j-cli.properties"
    options = [
        f"-Dlog.file={log}",
        f"-Dlog4j.configuration=file:{log4j}",
        f"-Dlog4j.configurationFile=file:{log4j}",
        f"-Djava.io.tmpdir={scratch}",
        "-XX:-UsePerfData",
        "-Xmx512m",
    ]
    jars = sorted((flink_home() / "lib").glob("*.jar"), key=lambda jar: ("flink-dist" in jar.name, jar.name))
    classpath = ":".join(map(str, jars))
    return [java(), *SMALL_JVM, *java_exports().split(), *options, "-classpath", classpath, CLIENT_CLASS]


def client_environment(conf: Path) -> dict[str, str]:
    """What the shell script would export for the client."""
    home = flink_home()
    return {
        "FLINK_HOME": str(home),
        "FLINK_CONF_DIR": str(conf),
        "FLINK_LIB_DIR": str(home / "lib"),
        "FLINK_OPT_DIR": str(home / "opt"),
        "FLINK_PLUGINS_DIR": str(home / "plugins"),
    }
