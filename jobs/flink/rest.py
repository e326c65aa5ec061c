"""Flink's REST API, as far as we use it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from featuredsl.errors import DependencyError, FeatureError, InputError

TIMEOUT_S = 15.0


def call(url: str, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
    """One request; the answer as JSON.

    Raises InputError for an address without a scheme, DependencyError when the
    JobManager does not answer, FeatureError with its text when it refuses.
    """
    if "://" not in url:
        msg = f"the address of Flink is {url!r}; write it as http://{url}"
        raise InputError(msg)
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{path}", data=data, method=method)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        msg = f"Flink at {url} refused {method} {path} ({error.code}): {_first_error(error.read())}"
        raise FeatureError(msg) from error
    except OSError as error:
        msg = f"Flink at {url} does not answer: {error}"
        raise DependencyError(msg) from error
    return json.loads(text) if text.strip() else {}


def root_cause(trace: str) -> str:
    """The innermost cause of a Java stack trace, with the Python error where one is inside."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    python = [line for line in lines if _is_python_error(line)]
    if python and "PythonException" not in trace and not causes:
        return python[-1]
    innermost = causes[-1] if causes else (lines[0] if lines else "")
    return f"{innermost} ({python[-1]})" if python and python[-1] not in innermost else innermost


def _is_python_error(line: str) -> bool:
    name = line.split(":", 1)[0]
    known = name.endswith(("Error", "Exception", "Warning")) and not name.startswith(("java.", "org.", "py4j."))
    return ":" in line and known and name.replace(".", "").isidentifier()


def _first_error(text: bytes) -> str:
    try:
        errors = json.loads(text).get("errors", [])
    except ValueError:
        return text.decode(errors="replace")[:300]
    causes = [root_cause(str(error)) for error in errors if "\n" in str(error)] or [str(e) for e in errors]
    return causes[0][:500] if causes else ""
