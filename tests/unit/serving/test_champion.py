from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from featuredsl.ccb.types import Action, DecisionRequest, Slot
from serving.champion import non_finite
from serving.config import ServeConfig
from tests.support.serving import MODEL, Bench, FirstPolicy, publish_artefact


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "champions"


def bench(root: Path) -> Bench:
    return Bench(ServeConfig(MODEL), root)


def test_nothing_published_is_no_error(root: Path) -> None:
    one = bench(root)
    assert asyncio.run(one.champion.poll()) is False
    assert (one.champion.active, one.champion.last_error) == (None, None)


def test_a_new_version_is_swapped_in_and_going_back_needs_no_load(root: Path) -> None:
    loads: list[str] = []

    async def scenario() -> Bench:
        one = bench(root)
        load = one._load
        one.champion._loader = lambda path: (loads.append(path.name.split("-")[0]), load(path))[1]
        for version in ("1", "2", "1"):
            await one.publish(version, FirstPolicy())
        assert await one.champion.poll() is False
        return one

    one = asyncio.run(scenario())
    assert one.champion.active is not None
    assert one.champion.previous is not None
    assert (one.champion.active.version, one.champion.previous.version) == ("1", "2")
    assert loads == ["1", "2"]
    assert one.champion.swaps == 3
    assert one.metric("featuredsl_model_swaps_total") == 3
    assert one.metric("featuredsl_model_info", model=MODEL, version="1") == 1
    assert one.metric("featuredsl_model_info", model=MODEL, version="2") == 0


@pytest.mark.parametrize("damage", ["manifest", "loader", "pointer", "gone"])
def test_a_bad_artefact_is_refused_and_the_old_one_keeps_serving(root: Path, damage: str) -> None:
    async def scenario() -> Bench:
        one = bench(root)
        await one.publish("1", FirstPolicy())
        publish_artefact(root, "2")
        pointer = root / MODEL / "current.json"
        folder = root / MODEL / json.loads(pointer.read_text())["path"]
        if damage == "manifest":
            (folder / "manifest.json").write_text('{"version": "evil"}')
        elif damage == "pointer":
            pointer.write_text('{"version": ')
        elif damage == "gone":
            (folder / "manifest.json").unlink()
        for _ in range(3):
            assert await one.champion.poll() is False
        return one

    one = asyncio.run(scenario())
    assert one.champion.active is not None
    assert one.champion.active.version == "1"
    assert one.champion.last_error is not None
    assert MODEL in one.champion.last_error
    assert one.metric("featuredsl_model_reload_failures_total") == (3 if damage == "pointer" else 1)


def test_a_refused_version_is_forgotten_when_another_one_comes(root: Path) -> None:
    async def scenario() -> Bench:
        one = bench(root)
        publish_artefact(root, "1")
        await one.champion.poll()
        assert one.champion.last_error is not None
        await one.publish("2", FirstPolicy())
        return one

    one = asyncio.run(scenario())
    assert one.champion.last_error is None
    assert one.champion.active is not None
    assert one.champion.active.version == "2"


@pytest.mark.parametrize(("score", "code"), [(0.5, None), (float("nan"), "nan"), (float("inf"), "inf")])
def test_results_that_are_not_finite_are_found(score: float, code: str | None) -> None:
    request = DecisionRequest({}, (Action("a"), Action("b")), (Slot("s"),))
    assert non_finite(FirstPolicy(score).decide(request)) == code
