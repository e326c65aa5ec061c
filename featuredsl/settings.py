"""Where the services are: one value object from options, environment, the local stack and defaults."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from featuredsl.errors import DependencyError, InputError

ENV_PREFIX = "FEATUREDSL_"
STACK_FILE = "stack.json"
_ENDPOINTS = {
    "kafka": "Kafka address",
    "redis": "Redis address",
    "flink": "Flink address",
    "spark": "Spark address",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Addresses and folders of one run.

    Each field comes from the first that has it: an explicit option of `load`, the environment variable
    `FEATUREDSL_<NAME>`, `<home>/stack.json` (written by `featuredsl up`), the default. An endpoint that
    nobody named is the empty string; ask for it with `require`, which says what to do. `registry` is a folder
    or a URL.
    """

    home: Path
    registry: Path | str
    jars: Path
    mlflow: str
    kafka: str = ""
    redis: str = ""
    flink: str = ""
    spark: str = ""
    prefix: str = ""

    @classmethod
    def load(cls, **overrides: str | Path | None) -> Settings:
        """Read the settings; an override of None is not given. Raises InputError on an unknown name."""
        names = {field.name for field in fields(cls)}
        if unknown := sorted(set(overrides) - names):
            msg = f"unknown setting {unknown[0]!r}; settings are {', '.join(sorted(names))}"
            raise InputError(msg)
        given = _given(names, overrides)
        home = Path(given.get("home", ".featuredsl")).absolute()
        values = stack_endpoints(home) | given
        return cls(
            home=home,
            registry=_folder_or_url(str(values.get("registry", home / "registry"))),
            jars=Path(values.get("jars", _jars())).absolute(),
            mlflow=values.get("mlflow", f"sqlite:///{home / 'mlflow.db'}"),
            prefix=values.get("prefix", ""),
            **{name: values.get(name, "") for name in _ENDPOINTS},
        )

    def require(self, name: str) -> str:
        """The address of `name` (kafka, redis, flink or spark). Raises DependencyError when there is none."""
        value: str = getattr(self, name)
        if not value:
            msg = f"no {_ENDPOINTS[name]}: run `featuredsl up` or set {ENV_PREFIX}{name.upper()}"
            raise DependencyError(msg)
        return value

    def environment(self) -> dict[str, str]:
        """The settings as environment variables, for a command that is to work with the same ones."""
        return {ENV_PREFIX + field.name.upper(): str(getattr(self, field.name)) for field in fields(self)}

    @property
    def logs(self) -> Path:
        """The folder of all log files."""
        return self.home / "logs"


def _jars() -> Path:
    """Where the set-up puts jars: here, or in the checkout that this code runs from."""
    here, checkout = Path("build") / "jars", Path(__file__).absolute().parents[1] / "build" / "jars"
    return checkout if checkout.is_dir() and not here.is_dir() else here


def _folder_or_url(text: str) -> Path | str:
    return text if "://" in text else Path(text).absolute()


def stack_endpoints(home: Path) -> dict[str, str]:
    """Addresses that the local stack under `home` wrote down; empty when no stack runs there."""
    path = home / STACK_FILE
    try:
        endpoints = json.loads(path.read_text(encoding="utf-8"))["endpoints"]
        return {name: str(value) for name, value in endpoints.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{path} is not a stack description ({error}); remove it and run `featuredsl up`"
        raise InputError(msg) from error


def _given(names: set[str], overrides: Mapping[str, str | Path | None]) -> dict[str, str]:
    environment = {name: os.environ.get(ENV_PREFIX + name.upper()) for name in names}
    given: dict[str, str] = {name: value for name, value in environment.items() if value}
    given.update({name: str(value) for name, value in overrides.items() if value is not None})
    return given
