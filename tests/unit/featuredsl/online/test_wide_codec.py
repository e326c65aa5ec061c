"""Tiles of states of variable width: vectors shared with the Java sink, round trips, refused bytes, the fields."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.errors import CodecError, DefinitionError, InputError, StateError
from featuredsl.online.layout import Column, StoreLayout, WideTier
from featuredsl.online.request import ReadRequest
from featuredsl.online.wide_codec import WideTile, decode_wide, decode_wide_tile, encode_wide_tile
from tests.unit.featuredsl.online.test_layout import golden_layout

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "online" / "wide_tiles.json").read_text())
TIER = WideTier(**GOLDEN["tier"])
INT64 = st.integers(-(2**63), 2**63 - 1)
FIRST = bytes.fromhex(GOLDEN["tiles"][0]["hex"])


def tile_of(case: dict[str, Any]) -> WideTile:
    states = tuple(None if state is None else bytes.fromhex(state) for state in case["states"])
    lost = tuple(case["lost"])
    return WideTile(int(case["tile"]), int(case["rows"]), int(case["high_water_us"]), states, lost)


@pytest.mark.parametrize("case", GOLDEN["tiles"], ids=lambda case: case["tile"])
def test_golden_tiles(case: dict[str, Any]) -> None:
    tile = tile_of(case)
    assert encode_wide_tile(TIER, tile).hex() == case["hex"]
    assert decode_wide_tile(TIER, bytes.fromhex(case["hex"])) == tile
    assert TIER.hash_fields[tile.index % TIER.slots] == case["field"]


@given(INT64, INT64, INT64, st.lists(st.none() | st.binary(max_size=40), min_size=3, max_size=3))
def test_round_trip(index: int, rows: int, water: int, states: list[bytes | None]) -> None:
    tile = WideTile(index, rows, water, tuple(states))
    assert decode_wide_tile(TIER, encode_wide_tile(TIER, tile)) == tile


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", StateError, "format version none"),
        (b"\2" + FIRST[1:], StateError, "format version 2"),
        (FIRST[:-1], CodecError, "does not hold 3 states"),
        (FIRST + b"\0", CodecError, "does not hold 3 states"),
        (FIRST[:25], CodecError, "tag none of state 0"),
        (FIRST[:20], CodecError, "does not hold 3 states"),
        (FIRST[:25] + b"\3\0\0", CodecError, "tag 03 of state 0"),
        (FIRST[:25] + b"\1\xff\xff\xff\xff\0\0", CodecError, "does not hold 3 states"),
    ],
)
def test_refused_bytes(data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        decode_wide_tile(TIER, data)
    assert "clicks/5m" in str(caught.value)


def test_refused_tiles_and_tiers() -> None:
    with pytest.raises(InputError, match="2 states for 3"):
        encode_wide_tile(TIER, WideTile(0, 1, 0, (None, None)))
    with pytest.raises(InputError, match="cannot hold"):
        encode_wide_tile(TIER, WideTile(2**63, 1, 0, (None, None, None)))
    for change in ({"hop_us": 0}, {"slots": 0}, {"states": 0}):
        with pytest.raises(DefinitionError, match="must be positive"):
            replace(TIER, **change)
    with pytest.raises(DefinitionError, match="at most 64 states fit"):
        replace(TIER, states=65)
    with pytest.raises(DefinitionError, match="longer hop"):
        replace(TIER, slots=10_001)
    with pytest.raises(DefinitionError, match="repeated"):
        replace(golden_layout(), wide=(TIER, TIER))


def test_tiles_come_by_index_and_empty_slots_are_left_out() -> None:
    tiles = [tile_of(case) for case in GOLDEN["tiles"]]
    found = decode_wide(TIER, [None, *(encode_wide_tile(TIER, tile) for tile in tiles), None])
    assert [tile.index for tile in found] == [-1, 0, 2, 3, 5_840_000]


def test_a_read_asks_for_every_slot_in_the_one_round_trip() -> None:
    layout = replace(golden_layout(), wide=(TIER, replace(TIER, name="views/1h", slots=2, states=1)))
    fields = ["l:last", "b:1h", *(f"t:clicks/5m:{i}" for i in range(4)), "t:views/1h:0", "t:views/1h:1"]
    assert list(layout.hash_fields) == fields
    request = ReadRequest([(layout, ("a", 1))])
    assert request.commands == [("MGET", "g@v1:{a|1}:R"), ("HMGET", "g@v1:{a|1}:X", *fields)]
    second = encode_wide_tile(layout.wide[1], WideTile(9, 1, 5, (b"\1",)))
    (state,) = request.parse([[None], [None, None, None, FIRST, None, None, None, second]])
    assert state.exists
    assert state.wide == {"clicks/5m": (tile_of(GOLDEN["tiles"][0]),), "views/1h": (WideTile(9, 1, 5, (b"\1",)),)}


def test_a_group_of_states_alone_has_no_ring() -> None:
    layout = StoreLayout("g", "v", (Column("u", "str"),), (), (), (), 0, (TIER,))
    request = ReadRequest([(layout, ("a",))])
    assert request.commands == [("HMGET", "g@v:{a}:X", *TIER.hash_fields)]
    (state,) = request.parse([[None] * 4])
    assert (state.exists, state.wide) == (False, {"clicks/5m": ()})
