"""States whose bytes are the same in Python and in Java: the JUnit test of the Flink jobs reads the same file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from featuredsl.wide.table import KINDS
from tests.golden.wide_states import CASES, FILE, expanded, merged, monoid_of

ROWS: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def fits(row: dict[str, Any], data: bytes) -> bool:
    if "bytes" in row:
        return data == bytes.fromhex(row["bytes"])
    return [len(data), hashlib.sha256(data).hexdigest()] == [row["length"], row["sha256"]]


def parts_of(row: dict[str, Any]) -> list[list[tuple[int, tuple[Any, ...]]]]:
    return [list(expanded(part)) for part in row["parts"]]


def test_every_case_and_kind_is_pinned() -> None:
    assert [row["name"] for row in ROWS] == list(CASES)
    assert {row["kind"] for row in ROWS} == {*KINDS, "min", "max"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_bytes(row: dict[str, Any]) -> None:
    params = json.loads(row["params"])
    assert fits(row, merged(row["kind"], params, parts_of(row)))
    if "bytes" in row:
        data = bytes.fromhex(row["bytes"])
        monoid = monoid_of(row["kind"], params)
        assert monoid.to_bytes(monoid.from_bytes(data)) == data


@pytest.mark.parametrize("row", [row for row in ROWS if row["any_order"]], ids=lambda row: row["name"])
def test_order_and_split_do_not_matter(row: dict[str, Any]) -> None:
    params = json.loads(row["params"])
    taken = [one for part in parts_of(row) for one in part][::-1]
    assert fits(row, merged(row["kind"], params, [taken]))
    assert fits(row, merged(row["kind"], params, [taken[i::3] for i in range(3)]))
