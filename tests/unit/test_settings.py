"""Where settings come from, and what is said when one is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import featuredsl.settings as settings_module
from featuredsl.errors import DependencyError, InputError
from featuredsl.settings import Settings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "KAFKA", "REDIS", "FLINK", "SPARK", "REGISTRY", "MLFLOW", "PREFIX", "JARS"):
        monkeypatch.delenv(f"FEATUREDSL_{name}", raising=False)
    monkeypatch.chdir(tmp_path)


def write_stack(home: Path, **endpoints: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "stack.json").write_text(json.dumps({"endpoints": endpoints}))


def test_defaults(tmp_path: Path) -> None:
    settings = Settings.load()
    assert settings.home == tmp_path / ".featuredsl"
    assert settings.registry == tmp_path / ".featuredsl" / "registry"
    assert settings.mlflow == f"sqlite:///{tmp_path / '.featuredsl' / 'mlflow.db'}"
    assert (settings.kafka, settings.prefix) == ("", "")


def test_jars_are_here_or_in_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = tmp_path / "checkout" / "featuredsl" / "settings.py"
    monkeypatch.setattr(settings_module, "__file__", str(code))
    assert Settings.load().jars == tmp_path / "build" / "jars"
    built = tmp_path / "checkout" / "build" / "jars"
    built.mkdir(parents=True)
    assert Settings.load().jars == built
    (tmp_path / "build" / "jars").mkdir(parents=True)
    assert Settings.load().jars == tmp_path / "build" / "jars"


def test_a_registry_may_be_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEATUREDSL_REGISTRY", "s3://bucket/registry")
    assert Settings.load().registry == "s3://bucket/registry"
    monkeypatch.setenv("FEATUREDSL_REGISTRY", "here")
    assert Settings.load().registry == Path("here").absolute()


def test_option_before_environment_before_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_stack(tmp_path / ".featuredsl", kafka="stack:1", redis="redis://stack", flink="http://stack")
    monkeypatch.setenv("FEATUREDSL_KAFKA", "env:1")
    monkeypatch.setenv("FEATUREDSL_REDIS", "redis://env")
    settings = Settings.load(kafka="option:1", redis=None)
    assert settings.kafka == "option:1"
    assert settings.redis == "redis://env"
    assert settings.flink == "http://stack"


def test_home_of_the_environment_decides_which_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_stack(tmp_path / "other", kafka="other:1")
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path / "other"))
    assert Settings.load().require("kafka") == "other:1"


@pytest.mark.parametrize("name", ["kafka", "redis", "flink", "spark"])
def test_missing_endpoint_says_what_to_do(name: str) -> None:
    with pytest.raises(DependencyError, match=rf"run `featuredsl up` or set FEATUREDSL_{name.upper()}"):
        Settings.load().require(name)


def test_unknown_setting() -> None:
    with pytest.raises(InputError, match="unknown setting 'kafak'; settings are flink, home"):
        Settings.load(kafak="x")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"endpoints": 3}'])
def test_broken_stack_file(text: str, tmp_path: Path) -> None:
    home = tmp_path / ".featuredsl"
    home.mkdir()
    (home / "stack.json").write_text(text)
    with pytest.raises(InputError, match=r"stack.json is not a stack description"):
        Settings.load()
