"""Where the JVM is."""

from __future__ import annotations

import os
import shutil

from featuredsl.errors import DependencyError

# A JVM that only coordinates or submits: compiles little, starts faster, and takes less memory.
SMALL_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def java() -> str:
    """The java command. Raises DependencyError when there is none."""
    home = os.environ.get("JAVA_HOME", "")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if found is None:
        msg = "no java: install a JDK 17 and put its bin folder on the PATH, or set JAVA_HOME"
        raise DependencyError(msg)
    return found
