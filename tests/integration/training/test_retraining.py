"""Trigger -> examples from Kafka -> training -> gate -> MLflow -> channel, with the real services."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from featuredsl.ccb import channel
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.gate import GateConfig, GateResult, Outcome
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Example
from featuredsl.cli.main import run
from featuredsl.errors import CheckFailed, DependencyError, InputError
from featuredsl.settings import Settings
from jobs import kafka
from jobs.training.data import Dataset, collect, read_topic
from jobs.training.lifecycle import Status
from jobs.training.models_cli import channel_root, open_registry
from jobs.training.registry import ModelRegistry
from jobs.training.service import ServiceConfig, Trainer
from jobs.training.train import TrainConfig, train
from jobs.training.trigger import Trigger, TriggerReader, send_manual
from schemas.topics import CCB_EXAMPLES, RETRAIN_TRIGGERS, topic
from tests.support.ccb_data import random_examples
from tests.support.stack import TestStack

MODEL = "shop"
CONFIG = TrainConfig(MODEL, "-q CA --softmax --lambda 5 --epsilon 0.3", holdout=0.4)


@pytest.fixture
def settings(stack: TestStack, empty_database: Path) -> Settings:
    needed = stack.need("kafka")
    home = needed.home / needed.prefix
    home.mkdir()
    shutil.copyfile(empty_database, home / "mlflow.db")
    return replace(needed, home=home, mlflow=f"sqlite:///{home / 'mlflow.db'}")


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated MLflow database: making one takes seconds, copying it does not."""
    folder = tmp_path_factory.mktemp("mlflow")
    ModelRegistry(f"sqlite:///{folder / 'mlflow.db'}", folder, folder)
    return folder / "mlflow.db"


@pytest.fixture
def registry(tmp_path: Path, empty_database: Path) -> ModelRegistry:
    shutil.copyfile(empty_database, tmp_path / "mlflow.db")
    return ModelRegistry(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "mlruns", tmp_path / "champions")


def _examples(count: int = 600) -> list[Example]:
    return random_examples(random.Random(1), count, candidates=6, slots=1)


def _dataset(examples: list[Example]) -> Dataset:
    return collect(json.dumps(to_record(example)).encode() for example in examples)


def _fill(settings: Settings, examples: list[Example]) -> str:
    name = topic(settings.prefix, CCB_EXAMPLES)
    kafka.ensure_topics(settings.kafka, [name, topic(settings.prefix, RETRAIN_TRIGGERS)])
    out = kafka.producer(settings.kafka)
    for example in examples:
        out.produce(name, json.dumps(to_record(example)), key=example.event_id)
    out.produce(name, b"not json")
    out.flush()
    return name


def test_a_trigger_leads_to_a_champion_once(settings: Settings, tmp_path: Path) -> None:
    name = _fill(settings, _examples())
    registry = open_registry(settings)
    trainer = Trainer(
        ServiceConfig(CONFIG, tmp_path / "work", GateConfig()), registry, lambda: read_topic(settings.kafka, name)
    )
    made = send_manual(settings.kafka, settings.prefix, MODEL, 1_700_000_000_000, ["ticket-1"])
    send_manual(settings.kafka, settings.prefix, "other", 1_700_000_000_000)
    reader = TriggerReader(settings.kafka, settings.prefix, MODEL)
    pending = reader.poll()
    assert [trigger.trigger_id for trigger in pending] == [made.trigger_id]
    assert reader.poll() == []
    (report,) = trainer.handle(pending)
    assert (report["status"], report["outcome"], report["promoted"]) == ("trained", "improved", True)
    assert report["rejected"] == {"bad_json": 1}
    champion = registry.champion(MODEL)
    assert champion is not None
    assert (champion.version, champion.status, champion.trigger_id) == ("1", Status.SERVING, made.trigger_id)
    current = channel.read_current(channel_root(settings), MODEL)
    assert current is not None
    assert current.version == "1"
    assert current.sha256 == champion.tags["artefact_sha256"]
    CcbScorer.load(current.path).verify()
    again = Trainer(
        ServiceConfig(CONFIG, tmp_path / "other", GateConfig()), registry, lambda: pytest.fail("read again")
    )
    assert list(again.handle(TriggerReader(settings.kafka, settings.prefix, MODEL).poll())) == []


def test_commands_run_the_loop(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fill(settings, _examples())
    for name in ("kafka", "prefix", "mlflow"):
        monkeypatch.setenv(f"FEATUREDSL_{name.upper()}", getattr(settings, name))
    monkeypatch.setenv("FEATUREDSL_HOME", str(settings.home))
    vw = ["--vw", CONFIG.arguments, "--holdout", "0.4"]
    assert run(["trigger", MODEL, "--reason", "manual"]) == 0
    assert run(["run", "train", "--model", MODEL, "--once", *vw]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["promoted"] is True
    assert run(["run", "train", "--model", MODEL, "--once", "--wait", "0"]) == 4
    assert run(["models", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(entry["version"], entry["status"], entry["gate"]) for entry in listed] == [("1", "SERVING", "improved")]
    assert run(["models", "show", MODEL]) == 0
    assert run(["models", "rollback", MODEL]) == 2
    assert run(["models", "freeze", MODEL]) == 0
    assert run(["models", "pin-last-good", MODEL]) == 0
    assert run(["models", "promote", MODEL, "9"]) == 2


def _registered(registry: ModelRegistry, folder: Path, outcome: Outcome) -> str:
    trained = train(_dataset(_examples(300)), CONFIG, folder)
    version = registry.judged(registry.register(trained.directory, {}), GateResult(outcome, (), {}))
    return version.version


def test_nothing_is_promoted_past_a_failed_gate(registry: ModelRegistry, tmp_path: Path) -> None:
    first = _registered(registry, tmp_path / "1", Outcome.EQUIVALENT)
    assert registry.promote_automatically(registry.version(MODEL, first)) is None
    for number, outcome in enumerate((Outcome.REGRESSED, Outcome.INSUFFICIENT, Outcome.EQUIVALENT), start=2):
        name = _registered(registry, tmp_path / str(number), outcome)
        version = registry.version(MODEL, name)
        assert registry.promote_automatically(version) is not None
        if outcome is not Outcome.EQUIVALENT:
            with pytest.raises(CheckFailed):
                registry.promote(MODEL, name)
        champion = registry.champion(MODEL)
        assert champion is not None
        assert champion.version == first
    better = _registered(registry, tmp_path / "5", Outcome.IMPROVED)
    channel.freeze(tmp_path / "champions", MODEL, "incident")
    assert registry.promote_automatically(registry.version(MODEL, better)) == "automatic promotion is frozen"
    channel.unfreeze(tmp_path / "champions", MODEL)
    assert registry.promote_automatically(registry.version(MODEL, better)) is None
    assert [entry.status.value for entry in registry.versions(MODEL)] == [
        "DEPRECATED",
        "FAILED",
        "FAILED",
        "VALIDATED",
        "SERVING",
    ]
    assert registry.rollback(MODEL).version == first
    assert channel.read_current(tmp_path / "champions", MODEL) is not None
    with pytest.raises(InputError, match="no earlier champion"):
        registry.rollback(MODEL)
    assert registry.promote(MODEL, "4").status is Status.SERVING


def test_a_failed_training_is_reported_and_promotes_nothing(registry: ModelRegistry, tmp_path: Path) -> None:
    trainer = Trainer(ServiceConfig(CONFIG, tmp_path / "work", GateConfig()), registry, lambda: _dataset([]))
    triggers = [Trigger(f"t{number}", MODEL, "DRIFT") for number in range(3)]
    reports = list(trainer.handle(triggers))
    assert [report["status"] for report in reports] == ["superseded", "superseded", "failed"]
    assert "no example to train on" in reports[-1]["error"]
    assert list(trainer.handle(triggers)) == []
    assert registry.models() == []


def test_an_unreachable_registry_says_what_to_do(registry: ModelRegistry, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    with pytest.raises(DependencyError, match="FEATUREDSL_MLFLOW"):
        ModelRegistry(f"sqlite:///{tmp_path / 'broken.db'}", tmp_path, tmp_path)
    with pytest.raises(InputError, match=r"no model '[^']+'; models: none"):
        registry.version(MODEL, "7")
