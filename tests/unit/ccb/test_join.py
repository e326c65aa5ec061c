"""`ccb join`: attribution, duplicates, rejections and counts, on hand-made files in all three formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from featuredsl.ccb.attribution import JoinConfig
from featuredsl.ccb.join import JoinInput, JoinResult, Line
from featuredsl.ccb.join import join as join_records
from featuredsl.cli.ccb import join as command

T0 = 1_700_000_000_000
WINDOW = 1_800_000


def impression(event_id: str, ts: int = T0, slots: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "ts": ts,
        "context": {"user": "u"},
        "candidates": [{"action_id": f"a{at}"} for at in range(3)],
        "slots": [{"slot_id": str(at), "chosen": f"a{at}", "probability": 0.5} for at in range(slots)],
        **more,
    }


def click(event_id: str, delay: int, slot: str = "0", **more: Any) -> dict[str, Any]:
    return {"event_id": event_id, "slot_id": slot, "ts": T0 + delay, **more}


def lines(name: str, records: list[Any]) -> list[Line]:
    payloads = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in records]
    return [Line(name, at, payload) for at, payload in enumerate(payloads)]


def joined(impressions: list[Any], clicks: list[Any], config: JoinConfig | None = None, **more: Any) -> JoinResult:
    sides = {name: lines(name, records) for name, records in more.items()}
    inputs = JoinInput(lines("impressions", impressions), lines("clicks", clicks), **sides)
    return join_records(inputs, config or JoinConfig())


@pytest.mark.parametrize(
    ("delay", "cost", "count"),
    [
        (-1, 0.0, "early_clicks"),
        (0, -1.0, "clicked"),
        (1, -1.0, "clicked"),
        (WINDOW, -1.0, "clicked"),
        (WINDOW + 1, 0.0, "late_clicks"),
        (WINDOW + 86_400_000, 0.0, "late_clicks"),
        (WINDOW + 86_400_001, 0.0, "orphan_clicks"),
    ],
)
def test_a_click_counts_when_it_is_in_the_window(delay: int, cost: float, count: str) -> None:
    result = joined([impression("e")], [click("e", delay)])
    assert [label.cost for label in result.examples[0].labels] == [cost]
    assert result.counts[count] == 1


def test_every_shown_slot_has_a_cost_and_only_clicked_ones_pay() -> None:
    result = joined([impression("e", slots=3)], [click("e", 5, "2"), click("e", 6, "0"), click("e", 7, "9")])
    assert [label.cost for label in result.examples[0].labels] == [-1.0, 0.0, -1.0]
    assert result.summary()["orphan_clicks"] == 1


def test_repeats_are_dropped_and_the_earliest_is_kept() -> None:
    rows = [impression("e", T0 + 5, model="later"), impression("e", T0, model="first"), impression("e", T0)]
    result = joined(rows, [click("e", WINDOW + 5), click("e", 1), click("e", 1)])
    assert [(example.event_id, example.model) for example in result.examples] == [("e", "first")]
    assert result.counts["duplicates"] == 2
    assert result.counts["duplicate_clicks"] == 1
    assert result.counts["late_clicks"] == 1


def test_an_invalid_copy_does_not_hide_a_valid_one() -> None:
    bad = impression("e", T0 - 10)
    bad["slots"][0]["probability"] = 0
    result = joined([bad, impression("e")], [])
    assert result.counts["examples"] == 1
    assert result.counts["duplicates"] == 0
    assert [letter["reason"] for letter in result.dead_letters] == ["bad_probability"]


def test_impressions_add_up_whatever_the_lines_are() -> None:
    rows = [
        impression("a"),
        impression("a"),
        impression("b", activation_required=True),
        impression("c", activation_required=True),
        impression("d", slots=0),
        b"{nonsense",
        b'{"heartbeat": true, "ts": 1700000000000}',
    ]
    result = joined(rows, [], activations=[{"event_id": "c", "ts": T0 + WINDOW}, {"event_id": "b", "ts": T0 - 1}])
    counts = result.summary()
    assert counts["impressions"] == 6
    assert (counts["examples"], counts["duplicates"], counts["inactive"]) == (2, 1, 1)
    assert counts["rejected_by"] == {"impressions": 2}
    assert counts["impressions"] == 2 + 1 + 1 + 2


def test_catalog_is_that_of_the_decision_time_and_the_impression_wins() -> None:
    row = impression("e")
    row["candidates"][0]["features"] = {"price": 9}
    catalog = [
        {"action_id": "a0", "ts": T0 - 5, "features": {"price": 1, "brand": "x"}},
        {"action_id": "a1", "ts": T0 + 1, "features": {"price": 3}},
        {"action_id": "a1", "ts": T0, "features": {"price": 2}},
        {"action_id": "a2", "ts": T0 - 9, "features": {"price": 4}},
        {"action_id": "a2", "ts": T0 - 1, "features": None},
    ]
    example = joined([row], [], catalog=catalog).examples[0]
    features = [dict(action.features) for action in example.request.candidates]
    assert features == [{"price": 9, "brand": "x"}, {"price": 2}, {}]


def test_auction_metadata_join_the_context_under_a_prefix() -> None:
    auctions = [
        {"event_id": "e", "ts": T0 + 5, "floor_price": 2.0},
        {"event_id": "e", "ts": T0 + 1, "floor_price": 1.0, "tenant": "t", "nested": {"a": 1}},
        {"event_id": "x", "ts": T0, "floor_price": 3.0},
    ]
    example = joined([impression("e")], [], auctions=auctions).examples[0]
    assert example.request.context == {"auction_floor_price": 1.0, "user": "u"}


@pytest.mark.parametrize(("reward", "cost"), [("click", -1.0), ("max", -3.0), ("sum", -5.0)])
def test_rewards(reward: str, cost: float) -> None:
    clicks = [click("e", 1, value=3.0), click("e", 2, value=1.0), click("e", 3)]
    result = joined([impression("e")], clicks, JoinConfig(reward=reward))
    assert result.examples[0].labels[0].cost == cost


def test_a_cost_beyond_the_bound_is_a_dead_letter_not_an_example() -> None:
    result = joined([impression("e")], [click("e", 1, value=1e9)], JoinConfig(reward="sum"))
    assert [letter["reason"] for letter in result.dead_letters] == ["bad_cost"]
    assert result.summary()["rejected_by"] == {"impressions": 1}


def test_a_log_that_drops_records_gives_weights() -> None:
    example = joined([impression("e", drop_probability=0.9)], []).examples[0]
    assert example.weight == pytest.approx(10.0)


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    source = path.with_suffix(".rows")
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    if path.suffix == ".jsonl":
        return source.rename(path)
    with duckdb.connect() as connection:
        columns = {name: "VARCHAR" for name in ("event_id", "slot_id", "context", "candidates", "slots")}
        used = {name: kind for name, kind in columns.items() if name in records[0]}
        kinds = ", ".join(f"{name}: '{kind}'" for name, kind in {**used, "ts": "BIGINT"}.items())
        connection.execute(f"COPY (SELECT * FROM read_json('{source}', columns = {{{kinds}}})) TO '{path}'")
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_command_reads_and_writes_each_format(tmp_path: Path, suffix: str) -> None:
    bad = impression("bad")
    bad["slots"][0]["probability"] = 2
    rows = [impression("007"), impression("008"), impression("007"), bad]
    impressions = write(tmp_path / f"i{suffix}", rows)
    clicks = write(tmp_path / f"c{suffix}", [click("007", 9), click("008", WINDOW + 9), click("none", 1)])
    out, dead = tmp_path / f"e{suffix}", tmp_path / "d.jsonl"
    arguments = [
        "--impressions",
        impressions,
        "--clicks",
        clicks,
        "--out",
        out,
        "--dead-letter",
        dead,
        "--json",
    ]
    ran = CliRunner().invoke(command, [str(item) for item in arguments])
    assert ran.exit_code == 0, ran.output
    counts = json.loads(ran.stdout)
    expected = {
        "impressions": 4,
        "examples": 2,
        "clicked": 1,
        "duplicates": 1,
        "late_clicks": 1,
        "orphan_clicks": 1,
        "rejected": 1,
    }
    assert {name: counts[name] for name in expected} == expected
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT event_id::VARCHAR, vw FROM '{out}' ORDER BY 1").fetchall()
    assert [row[0].lstrip("0") for row in found] == ["7", "8"]
    assert "ccb slot 0:-1:0.5 |S slot_id=0" in found[0][1]
    letter = json.loads(dead.read_text())
    assert (letter["topic"], letter["offset"], letter["reason"]) == (f"i{suffix}", 4, "bad_probability")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("i.txt", "", "files end in"),
        ("i.jsonl", "{}\n", "every impression was refused"),
        ("i.parquet", "x", "cannot be read"),
    ],
)
def test_command_refuses_files_that_are_wrong_as_a_whole(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "c.jsonl").write_text("")
    arguments = ["--impressions", name, "--clicks", "c.jsonl", "--out", "e.jsonl", "--dead-letter", "d.jsonl"]
    paths = [str(tmp_path / item) if "." in item else item for item in arguments]
    ran = CliRunner().invoke(command, paths)
    assert message in str(ran.exception)
    assert getattr(ran.exception, "exit_code", None) == 2
