"""The stack's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from featuredsl.errors import InputError, StateError
from featuredsl.settings import Settings
from localstack.process import ProcessRecord
from localstack.service import Layout
from localstack.stack import part_names, status
from localstack.state import StackState

GONE = ProcessRecord("kafka", 2**22 + 1, "77", "tag", "kafka.log")


def test_round_trip_and_settings(tmp_path: Path) -> None:
    state = StackState.read(tmp_path)
    state.started("kafka", GONE)
    assert Settings.load(home=tmp_path).kafka == ""
    state.ready("kafka", "127.0.0.1:5", {})
    again = StackState.read(tmp_path)
    assert again.processes == {"kafka": [GONE]}
    assert Settings.load(home=tmp_path).kafka == "127.0.0.1:5"
    assert not again.healthy("kafka")
    again.forget(["kafka"])
    assert not (tmp_path / "stack.json").exists()


def test_status_of_a_dead_process_names_its_log(tmp_path: Path) -> None:
    state = StackState.read(tmp_path)
    state.started("kafka", GONE)
    state.ready("kafka", "127.0.0.1:5", {})
    by_name = {one.part: one for one in status(Layout(tmp_path, tmp_path))}
    assert by_name["kafka"].state == "broken"
    assert "kafka.log" in by_name["kafka"].detail
    assert by_name["redis"].state == "stopped"


@pytest.mark.parametrize("text", ["", "{", json.dumps({"format": 99})])
def test_unreadable_state(text: str, tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text(text)
    with pytest.raises(StateError, match=r"stack\.json"):
        StackState.read(tmp_path)


def test_part_names_keep_the_order_of_start() -> None:
    assert part_names("spark, kafka") == ["kafka", "spark"]
    assert part_names(None) == ["kafka", "redis", "flink", "spark"]
    with pytest.raises(InputError, match="no part 'zookeeper' in the stack; parts are kafka, redis, flink, spark"):
        part_names("zookeeper")
