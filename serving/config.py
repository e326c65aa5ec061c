"""Configuration of one scoring service: a TOML file, overridden by command-line options."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from featuredsl.errors import InputError


@dataclass(frozen=True, slots=True)
class GroupLookup:
    """A feature group read for every decision.

    `entity` names the request's `entities` that form the key, in the group's entity order; `features`
    limits what is taken from it (empty: all).
    """

    group: str
    entity: tuple[str, ...]
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureBudget:
    """How long a decision waits for features, and what it uses instead.

    After `breaker_failures` failures in a row no read is tried for `breaker_open_s`; last good values are
    used up to `stale_max_age_s` old, for at most `stale_entries` keys.
    """

    budget_ms: float = 5.0
    breaker_failures: int = 5
    breaker_open_s: float = 1.0
    stale_max_age_s: float = 300.0
    stale_entries: int = 10_000


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of one request and of the service; what exceeds them is refused or answered degraded.

    More than `soft_inflight` decisions at once are answered uniformly at random (flag `overload`), more
    than `hard_inflight` are refused with 503.
    """

    body_bytes: int = 1 << 20
    candidates: int = 1_000
    slots: int = 50
    soft_inflight: int = 256
    hard_inflight: int = 1_024


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is written to Kafka. `sampling` is the share of normal predictions; errors are always written."""

    predictions: bool = True
    impressions: bool = False
    sampling: float = 0.1
    queue_records: int = 100_000
    flush_s: float = 10.0


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """One service for one model. `catalog` is "" (none), "kafka" or the path of a JSON Lines file."""

    model: str
    name: str = ""
    replay: bool = False
    poll_interval_s: float = 0.5
    catalog: str = ""
    catalog_timeout_s: float = 30.0
    drain_s: float = 10.0
    providers: tuple[str, ...] = ("CPUExecutionProvider",)
    groups: tuple[GroupLookup, ...] = ()
    features: FeatureBudget = FeatureBudget()
    caps: Caps = Caps()
    log: LogConfig = LogConfig()

    def __post_init__(self) -> None:
        if not self.model or any(char in self.model for char in "/\\\0") or self.model.startswith("."):
            msg = f"model {self.model!r} is not a name (letters, digits, _ and -)"
            raise ValueError(msg)
        if not 0.0 < self.log.sampling <= 1.0:
            msg = f"log.sampling is a share in (0, 1], found {self.log.sampling}"
            raise ValueError(msg)
        if min(self.poll_interval_s, self.features.budget_ms, self.drain_s) <= 0:
            msg = "poll_interval_s, features.budget_ms and drain_s must be positive"
            raise ValueError(msg)

    @property
    def service_name(self) -> str:
        """Name of the running service; the model's unless `name` is set."""
        return self.name or self.model


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> ServeConfig:
    """Read `path` (TOML), apply `overrides` (None = not given). Raises InputError naming the wrong key."""
    data: dict[str, Any] = _read(path) if path else {}
    for key, value in overrides.items():
        if value is not None:
            _put(data, key, value)
    where = str(path) if path else "options"
    _check_names(data, where)
    try:
        return msgspec.convert(data, ServeConfig)
    except msgspec.ValidationError as error:
        msg = f"{where}: {error}"
        raise InputError(msg) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"cannot read the service configuration {path}: {error}"
        raise InputError(msg) from error


def _put(data: dict[str, Any], dotted: str, value: object) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        data = data.setdefault(parent, {})
    data[last] = value


_TABLES: dict[str, type] = {"": ServeConfig, "features": FeatureBudget, "caps": Caps, "log": LogConfig}


def _check_names(data: Mapping[str, Any], where: str) -> None:
    tables: list[tuple[str, type, Any]] = [
        (name, kind, data.get(name) if name else data) for name, kind in _TABLES.items()
    ]
    tables += [("groups[]", GroupLookup, entry) for entry in data.get("groups", ())]
    for name, kind, table in tables:
        known = {field.name for field in fields(kind)}
        unknown = sorted(set(table) - known) if isinstance(table, Mapping) else []
        if unknown:
            prefix = f"{name}." if name else ""
            msg = f"{where}: unknown key {prefix}{unknown[0]}; known keys: {', '.join(sorted(known))}"
            raise InputError(msg)
