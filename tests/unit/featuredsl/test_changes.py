"""What `plan` calls a change, what `apply` asks of models, and what both print."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from featuredsl.changes import GroupChange, compare
from featuredsl.cli import planning
from featuredsl.errors import CheckFailed, DependencyError, FeatureError, InputError
from featuredsl.loader import load_definitions
from featuredsl.model_uses import ModelUse, model_uses
from featuredsl.registry import Registry

BASE = '''
from featuredsl import EventSource, feature, feature_group, on_demand

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "i": int, "price": float})
FACTOR = 2

@feature_group(name="g", entity="u", owner="a")
class G:
    """Docs."""

    @feature(freshness="realtime", window="1h")
    def n(e: clicks) -> int:
        """How many."""
        return e.count()

    @feature(freshness="realtime", window="24h", default=0.0)
    def spend(e: clicks) -> float:
        return e.price.sum()

    @on_demand(inputs=["n"])
    def twice(n: int) -> int:
        return FACTOR * n
'''
MORE = """
    @on_demand(inputs=["spend"])
    def rounded(spend: float) -> int:
        return int(spend)
"""
STORED = """
    @feature(freshness="realtime", ttl="1d")
    def last(e: clicks) -> int:
        return e.latest().i
"""
TWICE = BASE[BASE.index("    @on_demand") :]
SPEND = BASE[BASE.index('    @feature(freshness="realtime", window="24h"') : BASE.index("    @on_demand")]


def plan_of(tmp_path: Path, *edits: tuple[str, str], more: str = "") -> Any:
    source = BASE + more
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    file = tmp_path / "definitions.py"
    file.write_text(source, encoding="utf-8")
    return load_definitions(file)["g"]


def change(tmp_path: Path, *edits: tuple[str, str], more: str = "", used: bool = True) -> GroupChange:
    return compare(plan_of(tmp_path), plan_of(tmp_path, *edits, more=more), used=used)


def kinds(found: GroupChange) -> dict[str, str]:
    return {f.name: f.kind for f in found.features if f.kind != "unchanged"}


CASES: list[tuple[str, list[tuple[str, str]], str, str, dict[str, str], bool, bool]] = [
    ("nothing", [], "", "unchanged", {}, False, False),
    ("docs of a group", [("Docs", "More")], "", "compatible", {}, False, False),
    ("owner", [('owner="a"', 'owner="b"')], "", "compatible", {}, False, False),
    ("docs of a feature", [("How many.", "Count.")], "", "compatible", {"n": "compatible"}, False, False),
    ("tags", [('window="1h"', 'window="1h", tags=["x"]')], "", "compatible",
     {"n": "compatible", "twice": "compatible"}, False, False),
    ("new on-demand", [], MORE, "compatible", {"rounded": "compatible"}, False, False),
    ("new stored", [], STORED, "rebuild", {"last": "rebuild"}, True, False),
    ("window", [('window="1h"', 'window="2h"')], "", "rebuild", {"n": "rebuild", "twice": "rebuild"}, True, True),
    ("default", [("default=0.0", "default=1.0")], "", "rebuild", {"spend": "rebuild"}, True, True),
    ("a constant", [("FACTOR = 2", "FACTOR = 3")], "", "rebuild", {"twice": "rebuild"}, False, True),
    ("the source", [('event_time="ts"', 'event_time="at"')], "", "rebuild",
     {"n": "rebuild", "spend": "rebuild", "twice": "rebuild"}, True, True),
    ("retention", [('owner="a"', 'owner="a", retention="1d"')], "", "rebuild", {}, True, False),
    ("removed", [(SPEND, "")], "", "breaking", {"spend": "breaking"}, True, True),
    ("removed on-demand", [(TWICE, "")], "", "breaking", {"twice": "breaking"}, False, True),
    ("type", [("-> float", "-> int"), ("e.price.sum()", "e.i.sum()"), ("default=0.0", "default=0")], "", "breaking",
     {"spend": "breaking"}, True, True),
    ("entity", [('entity="u"', 'entity="i"')], "", "breaking", {}, True, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "more", "kind", "features", "backfill", "retrain"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_kinds(
    edits: list[tuple[str, str]],
    more: str,
    kind: str,
    features: dict[str, str],
    backfill: bool,
    retrain: bool,
    tmp_path: Path,
) -> None:
    found = change(tmp_path, *edits, more=more)
    assert (found.kind, kinds(found)) == (kind, features)
    assert (found.backfill, found.retrain) == (backfill, retrain)
    assert (found.old_version == found.new_version) == (kind == "unchanged" or (kind == "compatible" and not more))


def test_a_group_without_models_breaks_nothing_by_losing_a_feature(tmp_path: Path) -> None:
    found = change(tmp_path, (SPEND, ""), used=False)
    assert (found.kind, kinds(found)) == ("rebuild", {"spend": "rebuild"})
    assert change(tmp_path, ('entity="u"', 'entity="i"'), used=False).kind == "breaking"


def test_a_new_group(tmp_path: Path) -> None:
    found = compare(None, plan_of(tmp_path))
    assert (found.kind, found.backfill, found.retrain) == ("new", True, False)


def champion(home: Path, model: str, fingerprints: Mapping[str, str]) -> None:
    folder = home / "champions" / model / "3-abc"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"model": model, "fingerprints": fingerprints}))
    (folder.parent / "current.json").write_text(json.dumps({"version": "3", "path": "3-abc", "sha256": "0"}))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("KAFKA", "REDIS", "REGISTRY"):
        monkeypatch.delenv(f"FEATUREDSL_{name}", raising=False)
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def call(command: click.Command, *arguments: str) -> str:
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=True)
    if isinstance(done.exception, FeatureError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return str(done.output)


def definitions(tmp_path: Path, *edits: tuple[str, str]) -> str:
    plan_of(tmp_path, *edits)
    return str(tmp_path / "definitions.py")


def test_plan_compares_with_what_is_applied(home: Path, tmp_path: Path) -> None:
    file = definitions(tmp_path)
    assert call(planning.plan, file).startswith("g: new (")
    assert not home.exists()
    call(planning.apply, file)
    assert call(planning.plan, file).startswith("g: unchanged (")
    version = Registry.load(home / "registry").group("g").version
    champion(home, "ranker", {"g": version})
    champion(home, "other", {"h": "1"})
    changed = definitions(tmp_path, ('window="1h"', 'window="2h"'))
    text = call(planning.plan, changed)
    assert f"g: rebuild ({version} -> " in text
    assert "n: rebuild changed: window" in text
    assert "twice: rebuild changed: input n" in text
    assert "spend" not in text
    assert "models to retrain: ranker\n" in text
    assert "backfill of clicks: [t - 25h, t)" in text


SECOND = """

@feature_group(name="h", entity="i")
class H:
    @feature(freshness="realtime", window="1h")
    def m(e: clicks) -> int:
        return e.count()
"""


def test_a_group_that_is_gone_from_the_file_is_removed_on_request_only(home: Path, tmp_path: Path) -> None:
    both = (TWICE, TWICE + SECOND)
    call(planning.apply, definitions(tmp_path, both))
    version = Registry.load(home / "registry").group("h").version
    file = definitions(tmp_path)
    lines = call(planning.plan, file).splitlines()
    assert lines[1:] == [f"h: removed ({version} -> removed)", "  removed from the file", "  m: removed"]
    with pytest.raises(CheckFailed, match="h: at least one change is rebuild or worse"):
        call(planning.plan, file, "--fail-on", "rebuild")
    call(planning.plan, file, "--fail-on", "breaking")
    champion(home, "ranker", {"h": version})
    (_, gone) = json.loads(call(planning.plan, file, "--json"))["groups"]
    assert (gone["kind"], gone["new_version"], gone["models_affected"]) == ("breaking", None, ["ranker"])
    assert gone["backfill"]["needed"] is False
    text = call(planning.apply, file)
    assert f"h is no longer in {file} and stays applied; --remove drops it" in text
    assert "ranker" not in text
    assert sorted(Registry.load(home / "registry").groups) == ["g", "h"]
    text = call(planning.apply, file, "--remove")
    assert f"h@{version} breaking" in text
    assert "models to retrain: ranker" in text
    assert list(Registry.load(home / "registry").groups) == ["g"]
    assert "h" not in call(planning.plan, file).split()


def test_plan_as_json_estimates_bytes_and_rows(home: Path, tmp_path: Path) -> None:
    file = definitions(tmp_path)
    (group,) = json.loads(call(planning.plan, file, "--json", "--entities", "1000", "--events-per-day", "2400"))[
        "groups"
    ]
    assert (group["group"], group["kind"], group["old_version"]) == ("g", "new", None)
    backfill = group["backfill"]
    assert backfill["needed"] is True
    assert backfill["bytes"] == 1000 * backfill["bytes_per_entity"] > 0
    assert backfill["rows"] == 2500  # 24 h and one hop of 1 h, at 100 an hour
    (group,) = json.loads(call(planning.plan, file, "--json"))["groups"]
    assert (group["backfill"]["bytes"], group["backfill"]["rows"]) == (None, None)
    call(planning.apply, file)
    (group,) = json.loads(call(planning.plan, file, "--json"))["groups"]
    assert group["backfill"] == {"needed": False, "ranges": [], "bytes_per_entity": 0, "bytes": 0, "rows": 0}
    assert {f["feature"]: (f["kind"], f["reason"]) for f in group["features"]} == {
        "n": ("unchanged", None), "spend": ("unchanged", None), "twice": ("unchanged", None)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "limit", "fails"),
    [
        (("Docs", "More"), "rebuild", False),
        (('window="1h"', 'window="2h"'), "rebuild", True),
        (('window="1h"', 'window="2h"'), "breaking", False),
        (('entity="u"', 'entity="i"'), "rebuild", True),
        (('entity="u"', 'entity="i"'), "breaking", True),
    ],
)
def test_fail_on(edit: tuple[str, str], limit: str, fails: bool, home: Path, tmp_path: Path) -> None:
    call(planning.apply, definitions(tmp_path))
    changed = definitions(tmp_path, edit)
    if fails:
        with pytest.raises(CheckFailed, match=f"g: at least one change is {limit} or worse"):
            call(planning.plan, changed, "--fail-on", limit)
    else:
        call(planning.plan, changed, "--fail-on", limit)


class Sender:
    """Stands in for the entry point of the trainer."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Sequence[str]]] = []

    def load(self) -> Any:
        return self.send

    def send(self, kafka: str, prefix: str, changed: dict[str, Sequence[str]], at_ms: int) -> list[str]:
        assert (kafka, prefix) == ("broker:1", "p.")
        assert at_ms > 1_767_225_600_000
        self.sent.append(changed)
        return [f"t-{model}" for model in changed]


def test_apply_asks_the_models_that_are_affected_once(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = Sender()
    monkeypatch.setattr(planning, "metadata", SimpleNamespace(entry_points=lambda group: [sender]))
    monkeypatch.setenv("FEATUREDSL_KAFKA", "broker:1")
    monkeypatch.setenv("FEATUREDSL_PREFIX", "p.")
    call(planning.apply, definitions(tmp_path))
    champion(home, "ranker", {"g": Registry.load(home / "registry").group("g").version})
    champion(home, "other", {"h": "1"})
    call(planning.apply, definitions(tmp_path, ("Docs", "More")))
    assert sender.sent == []
    changed = definitions(tmp_path, ('window="1h"', 'window="2h"'))
    assert "trigger t-ranker" in call(planning.apply, changed)
    call(planning.apply, changed)
    version = Registry.load(home / "registry").group("g").version
    assert sender.sent == [{"ranker": [f"g@{version}"]}]


def test_apply_without_kafka_says_so(home: Path, tmp_path: Path) -> None:
    call(planning.apply, definitions(tmp_path))
    champion(home, "ranker", {"g": "old"})
    text = call(planning.apply, definitions(tmp_path, ("FACTOR = 2", "FACTOR = 3")))
    assert "models to retrain: ranker; no trigger is sent, as no Kafka is configured" in text


def test_apply_without_the_trainer_says_what_to_install(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "metadata", SimpleNamespace(entry_points=lambda group: []))
    monkeypatch.setenv("FEATUREDSL_KAFKA", "broker:1")
    call(planning.apply, definitions(tmp_path))
    champion(home, "ranker", {"g": "old"})
    with pytest.raises(DependencyError, match="ranker"):
        call(planning.apply, definitions(tmp_path, ("FACTOR = 2", "FACTOR = 3")))


def test_models_are_read_from_champions_and_from_artefacts(tmp_path: Path) -> None:
    champion(tmp_path, "ranker", {"g": "1"})
    assert model_uses(tmp_path / "champions") == (ModelUse("ranker", "3", {"g": "1"}),)
    assert model_uses(tmp_path / "champions" / "ranker") == (ModelUse("ranker", "", {"g": "1"}),)
    assert model_uses(tmp_path / "nothing") == ()
    (tmp_path / "champions" / "ranker" / "current.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        model_uses(tmp_path / "champions")
    (tmp_path / "champions" / "ranker" / "current.json").write_text("{}")
    with pytest.raises(InputError, match="no pointer"):
        model_uses(tmp_path / "champions")
