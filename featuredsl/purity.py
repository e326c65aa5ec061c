"""What an on-demand function may use: only what gives the same value today, in serving, and in a year."""

from __future__ import annotations

from types import ModuleType

ALLOWED = (
    "base64", "binascii", "bisect", "collections", "decimal", "fractions", "functools", "hashlib", "heapq", "itertools",
    "json", "math", "numpy", "operator", "re", "statistics", "string", "struct", "unicodedata", "zlib",
)  # fmt: skip
"""Modules whose functions depend on their arguments only. numpy counts with its version."""

_TIME = "the value would differ between serving and training; pass the time as a request input"
_CHANCE = "the value would differ at every call; pass it as a request input"
_WORLD = "a function must not read or write anything outside; make it a feature or a request input"
_SPECIAL = {
    **dict.fromkeys(("time", "datetime", "calendar", "zoneinfo"), _TIME),
    **dict.fromkeys(("random", "secrets", "uuid", "numpy.random"), _CHANCE),
    **dict.fromkeys(
        (
            "os", "io", "sys", "pathlib", "subprocess", "socket", "urllib", "http", "requests", "httpx", "aiohttp",
            "urllib3", "boto3", "redis", "kafka", "sqlite3", "duckdb", "pickle", "shelve", "threading", "asyncio",
            "multiprocessing", "logging", "tempfile", "shutil", "importlib", "inspect", "gc",
        ),
        _WORLD,
    ),
}  # fmt: skip
_BUILTINS = {
    **dict.fromkeys(("open", "input", "breakpoint"), _WORLD),
    **dict.fromkeys(("eval", "exec", "compile", "__import__", "globals", "locals", "vars"), "its code must be visible"),
    **dict.fromkeys(("id", "hash"), "the value differs between processes; use hashlib or zlib.crc32"),
}


def refused_builtin(name: str) -> str | None:
    """Why a builtin may not be used, or None."""
    return _BUILTINS.get(name)


def refused_module(name: str, *, library: bool) -> str | None:
    """Why a module may not be used, or None; `library` is true for Python's own."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    root = name.split(".")[0]
    if root in _SPECIAL:
        return _SPECIAL[root]
    if library and root not in ALLOWED:
        return f"modules that may be used: {', '.join(ALLOWED)}"
    return None


def allowed(name: str) -> bool:
    """True for a module that counts by its name and version."""
    return name.split(".")[0] in ALLOWED and name not in _SPECIAL


def signature(module: ModuleType) -> str:
    """What stands for an allowed module: its name, and its version where it has one of its own."""
    version = getattr(module, "__version__", None) if module.__name__.split(".")[0] == "numpy" else None
    return f"module {module.__name__}{' ' + str(version) if version else ''}"
