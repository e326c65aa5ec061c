"""Where a feature job begins: every combination of what may be left of the one before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from featuredsl.errors import InputError, StateError
from featuredsl.generations import base_of, generation
from jobs.flink.beginning import Beginning, Found, beginning, restored
from jobs.flink.records import JobRecord, newest_checkpoint, read_record, read_records, write_record

AT_US = 1_764_500_701_999_999
STAMP = "r20251130T110501"
RECORD = JobRecord("features-a-b", "j1", "g", {"a": "a1", "b": "b1"}, ("t",))
NOTHING = Found({"a": "a1", "b": "b1"}, {}, None, None, backlog=False)
RAN = replace(NOTHING, live={"a": "a1", "b": "b1"}, record=RECORD, backlog=True)


def test_names_of_generations() -> None:
    assert generation("a1", AT_US) == f"a1-{STAMP}"
    assert base_of(f"a1-{STAMP}") == "a1"
    assert base_of("a1-run-r2") == "a1-run-r2"
    assert base_of(generation("a1-r2", AT_US)) == "a1-r2"


def test_the_first_start_on_empty_topics_fills_what_readers_follow() -> None:
    assert beginning(NOTHING, AT_US) == Beginning({"a": "a1", "b": "b1"}, None, warm=False)
    applied = replace(NOTHING, live={"a": "a1", "b": "b1"})
    assert beginning(applied, AT_US) == Beginning({"a": "a1", "b": "b1"}, None, warm=False)


def test_a_first_start_on_full_topics_publishes_when_it_has_caught_up() -> None:
    applied = replace(NOTHING, live={"a": "a1", "b": "b1"}, backlog=True)
    filled = {"a": f"a1-{STAMP}", "b": f"b1-{STAMP}"}
    assert beginning(applied, AT_US) == Beginning(filled, None, warm=True)
    assert beginning(replace(applied, live={}), AT_US) == Beginning({"a": "a1", "b": "b1"}, None, warm=True)


def test_the_same_definitions_go_on_from_the_checkpoint() -> None:
    assert beginning(replace(RAN, checkpoint="chk"), AT_US) == Beginning(RECORD.versions, "chk", warm=False)
    newer = replace(RECORD, versions={"a": f"a1-{STAMP}", "b": f"b1-{STAMP}"})
    interrupted = replace(RAN, record=newer, checkpoint="chk")
    assert beginning(interrupted, AT_US) == Beginning(newer.versions, "chk", warm=True)


def test_without_state_nothing_live_is_written() -> None:
    filled = {"a": f"a1-{STAMP}", "b": f"b1-{STAMP}"}
    assert beginning(RAN, AT_US) == Beginning(filled, None, warm=True)
    assert beginning(replace(RAN, checkpoint="chk"), AT_US, fresh=True) == Beginning(filled, None, warm=True)
    emptied = replace(RAN, live={})
    assert beginning(emptied, AT_US) == Beginning(filled, None, warm=True)


def test_an_emptied_store_is_not_filled_from_state() -> None:
    """What the checkpoint has counted already would never be written again."""
    done = replace(RECORD, published=True)
    emptied = replace(RAN, record=done, checkpoint="chk", live={"a": "a1"})
    assert beginning(emptied, AT_US) == Beginning({"a": f"a1-{STAMP}", "b": f"b1-{STAMP}"}, None, warm=True)
    assert emptied.is_emptied
    assert not replace(emptied, live=RAN.live).is_emptied
    assert not replace(emptied, record=RECORD).is_emptied


def test_a_savepoint_goes_on_in_the_version_that_it_was_made_for() -> None:
    elsewhere = replace(RAN, record=None, live={"a": f"a1-{STAMP}", "b": "b1"})
    assert restored(elsewhere, "sp") == Beginning({"a": f"a1-{STAMP}", "b": "b1"}, "sp", warm=False)
    unpublished = replace(RAN, record=replace(RECORD, versions={"a": "a1", "b": f"b1-{STAMP}"}), live={})
    assert restored(unpublished, "sp") == Beginning({"a": "a1", "b": f"b1-{STAMP}"}, "sp", warm=True)
    assert restored(NOTHING, "sp") == Beginning({"a": "a1", "b": "b1"}, "sp", warm=True)
    with pytest.raises(InputError, match=r"sp cannot hold the state of what is applied now: .* made for a@a1, b@b1"):
        restored(replace(RAN, bases={"a": "a2", "b": "b1"}), "sp")


def test_a_changed_definition_gets_its_own_version_and_the_unchanged_one_a_generation() -> None:
    changed = replace(RAN, bases={"a": "a2", "b": "b1"}, checkpoint="chk")
    assert beginning(changed, AT_US) == Beginning({"a": "a2", "b": f"b1-{STAMP}"}, None, warm=True)


def test_records_survive_and_broken_ones_say_so(tmp_path: Path) -> None:
    assert read_record(tmp_path, RECORD.name) is None
    assert read_records(tmp_path / "none") == []
    write_record(tmp_path, RECORD)
    assert read_record(tmp_path, RECORD.name) == RECORD
    assert read_records(tmp_path) == [RECORD]
    (tmp_path / "x.json").write_text('{"name": "x"}')
    with pytest.raises(StateError, match=r"x\.json is no record of a submitted job \(KeyError\('job_id'\)\); remove"):
        read_record(tmp_path, "x")


def test_the_newest_complete_checkpoint_is_found_without_a_jobmanager(tmp_path: Path) -> None:
    for number, complete in ((9, True), (10, True), (11, False)):
        (tmp_path / "j1" / f"chk-{number}").mkdir(parents=True)
        if complete:
            (tmp_path / "j1" / f"chk-{number}" / "_metadata").write_text("x")
    (tmp_path / "j1" / "chk-11" / "_metadata").touch()  # begun, not written
    nobody = "http://127.0.0.1:9"
    assert newest_checkpoint(nobody, "j1", tmp_path.as_uri()) == (tmp_path / "j1" / "chk-10").as_uri()
    assert newest_checkpoint(nobody, "j2", tmp_path.as_uri()) is None
    assert newest_checkpoint(nobody, "j1", "s3://bucket/checkpoints") is None
