"""Stored bytes: golden vectors shared with the Java sink, round trips, order of ranks, refused bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.errors import CodecError, InputError, StateError
from featuredsl.online.codec import (
    Rank,
    Snapshot,
    Tile,
    decode_rank,
    decode_ring,
    decode_snapshots,
    encode_rank,
    encode_ring,
    encode_slot,
    encode_snapshot,
)
from featuredsl.online.layout import Column
from featuredsl.values import Value
from tests.unit.featuredsl.online.test_layout import golden_layout

GOLDEN = Path(__file__).parents[3] / "golden" / "online"
RANKS = json.loads((GOLDEN / "ranks.json").read_text())
UNESCAPED = json.loads((GOLDEN / "ranks_unescaped.json").read_text())
RING = json.loads((GOLDEN / "ring.json").read_text())
SNAPSHOTS = [json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("snapshots", "array_snapshots")]

INT64 = st.one_of(st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1]), st.integers(-(2**63), 2**63 - 1))
FLOAT = st.floats(allow_nan=False)
EDGES = "\0\x01a\u0100\u0101\u08ff\u0900\ud7fe\ud7ff\ue000\uffff\U00010000\U0010ffff"
TEXT = st.text(st.one_of(st.sampled_from(EDGES), st.characters(exclude_categories=["Cs"])))
COLUMNS = (Column("i", "int"), Column("f", "float"), Column("s", "str"), Column("b", "bool"), Column("t", "str"))
ROWS = st.tuples(*(st.none() | values for values in (INT64, FLOAT, TEXT, st.booleans(), TEXT)))


def _value(dtype: str, stored: Any) -> Value:
    if dtype == "int[]" and stored is not None:
        return [int(item) for item in stored]
    return int(stored) if dtype == "int" and stored is not None else stored


def _tile(slot: dict[str, Any]) -> Tile:
    dtypes = {t["name"]: [c["dtype"] for c in t["columns"]] for t in RING["tiers"]}[slot["tier"]]
    values = tuple(_value(d, v) for d, v in zip(dtypes, slot["values"], strict=True))
    return Tile(int(slot["tile"]), int(slot["rows"]), int(slot["high_water_us"]), values)


@pytest.mark.parametrize("case", RANKS, ids=range(len(RANKS)))
def test_golden_ranks(case: dict[str, Any]) -> None:
    columns = [Column(f"c{i}", v["dtype"]) for i, v in enumerate(case["values"])]
    values = tuple(_value(v["dtype"], v["value"]) for v in case["values"])
    data = bytes.fromhex(case["hex"])
    assert encode_rank(int(case["ts"]), columns, values).encode() == data
    assert decode_rank(columns, data) == Rank(int(case["ts"]), values)


@pytest.mark.parametrize("case", UNESCAPED, ids=range(len(UNESCAPED)))
def test_ranks_of_before_characters_were_escaped_are_read(case: dict[str, Any]) -> None:
    columns = [Column(f"c{i}", v["dtype"]) for i, v in enumerate(case["values"])]
    values = tuple(_value(v["dtype"], v["value"]) for v in case["values"])
    assert decode_rank(columns, bytes.fromhex(case["hex"])) == Rank(int(case["ts"]), values)


def test_golden_ring() -> None:
    layout = golden_layout()
    tiles: dict[str, list[Tile]] = {}
    for slot in RING["slots"]:
        assert encode_slot(layout.ring_tier(slot["tier"]), _tile(slot)).hex() == slot["hex"]
        tiles.setdefault(slot["tier"], []).append(_tile(slot))
    assert encode_ring(layout, tiles).hex() == RING["hex"]
    decoded = decode_ring(layout, bytes.fromhex(RING["hex"]))
    assert decoded == {name: tuple(sorted(found, key=lambda tile: tile.index)) for name, found in tiles.items()}


@pytest.mark.parametrize("golden", SNAPSHOTS, ids=["scalars", "arrays"])
def test_golden_snapshots(golden: dict[str, Any]) -> None:
    columns = [Column(f"c{i}", dtype) for i, dtype in enumerate(golden["columns"])]
    expected = []
    for case in golden["snapshots"]:
        values = tuple(_value(c.dtype, v) for c, v in zip(columns, case["values"], strict=True))
        expected.append(Snapshot(int(case["as_of_us"]), values))
        assert encode_snapshot(columns, expected[-1]).hex() == case["hex"]
    assert decode_snapshots(columns, bytes.fromhex(golden["hex"])) == tuple(expected)
    assert decode_snapshots(columns, None) == ()


def _order(ts_us: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The order that is promised, spelled out: null lowest, text by its UTF-8 bytes, -0.0 equal to 0.0."""
    keyed = [(v is not None, v.encode() if isinstance(v, str) else (v or 0)) for v in row]
    return (ts_us, *keyed)


@given(INT64, ROWS, INT64, ROWS)
def test_bytes_of_ranks_order_like_time_and_values(ts1: int, row1: Any, ts2: int, row2: Any) -> None:
    texts = encode_rank(ts1, COLUMNS, row1), encode_rank(ts2, COLUMNS, row2)
    for form in ("utf-8", "utf-16-be"):
        left, right = (text.encode(form) for text in texts)
        assert (left < right) == (_order(ts1, row1) < _order(ts2, row2))
        assert (left == right) == (_order(ts1, row1) == _order(ts2, row2))


@given(TEXT, TEXT, INT64)
def test_a_text_decides_before_what_follows_it(text1: str, text2: str, number: int) -> None:
    columns = (Column("s", "str"), Column("i", "int"))
    texts = encode_rank(0, columns, (text1, number)), encode_rank(0, columns, (text2, None))
    for form in ("utf-8", "utf-16-be"):
        left, right = (text.encode(form) for text in texts)
        assert (left < right) == (text1.encode() < text2.encode())


@given(INT64, ROWS)
def test_rank_round_trip(ts_us: int, row: tuple[Value, ...]) -> None:
    assert decode_rank(COLUMNS, encode_rank(ts_us, COLUMNS, row).encode()) == Rank(ts_us, row)


@given(INT64, ROWS)
def test_snapshot_round_trip(as_of_us: int, row: tuple[Value, ...]) -> None:
    data = b"\1" + encode_snapshot(COLUMNS, Snapshot(as_of_us, row))
    assert decode_snapshots(COLUMNS, data) == (Snapshot(as_of_us, row),)


TILES = st.builds(
    Tile,
    st.integers(-(2**62), 2**62),
    st.integers(1, 2**63 - 1),
    INT64,
    st.tuples(st.none() | INT64, st.none() | FLOAT),
)


@given(st.lists(TILES, max_size=6))
def test_ring_keeps_the_tiles_that_fit_its_slots(tiles: list[Tile]) -> None:
    by_slot = {tile.index % 4: tile for tile in tiles}
    decoded = decode_ring(golden_layout(), encode_ring(golden_layout(), {"exposures/5m": tiles}))
    assert decoded["exposures/5m"] == tuple(sorted(by_slot.values(), key=lambda tile: tile.index))
    assert decoded["exposures/1h"] == ()


def test_no_ring_is_empty_tiers() -> None:
    assert decode_ring(golden_layout(), None) == {"exposures/5m": (), "exposures/1h": ()}


def test_negative_zero_is_zero_in_a_rank_and_itself_in_a_snapshot() -> None:
    column = [Column("f", "float")]
    assert encode_rank(0, column, (-0.0,)) == encode_rank(0, column, (0.0,))
    (snapshot,) = decode_snapshots(column, b"\1" + encode_snapshot(column, Snapshot(0, (-0.0,))))
    assert str(snapshot.values) == "(-0.0,)"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", StateError, "format version none"),
        (b"\2" + bytes(279), StateError, "format version 2"),
        (b"\1" + bytes(279), CodecError, "another definition"),
        (bytes.fromhex(RING["hex"])[:-1], CodecError, "279 bytes"),
        (bytes.fromhex(RING["hex"]) + b"\0", CodecError, "281 bytes"),
    ],
)
def test_refused_rings(data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        decode_ring(golden_layout(), data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"8000",
        b"8" * 15 + b"z0",
        b"8000000000000000",
        b"80000000000000002",
        b"80000000000000001abc",
        b"8000000000000000" + b"00",
    ],
)
def test_refused_ranks(data: bytes) -> None:
    with pytest.raises(CodecError, match="not a rank of"):
        decode_rank([Column("s", "str")], data)


@pytest.mark.parametrize("cut", [1, 5, 12, 14, 20])
def test_truncated_snapshots_are_refused(cut: int) -> None:
    columns = [Column("s", "str"), Column("i", "int")]
    data = b"\1" + encode_snapshot(columns, Snapshot(1, ("abc", 5)))
    with pytest.raises(CodecError, match="does not hold"):
        decode_snapshots(columns, data[:-cut])
    with pytest.raises(StateError, match="format version"):
        decode_snapshots(columns, b"\2" + data[1:])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (Column("i", "int"), True),
        (Column("i", "int"), 1.5),
        (Column("i", "int"), 2**63),
        (Column("s", "str"), 1),
        (Column("b", "bool"), 1),
        (Column("f", "float"), "1"),
    ],
)
def test_values_of_another_type_are_refused(column: Column, value: Value) -> None:
    with pytest.raises(InputError, match=r"64-bit|column"):
        encode_rank(0, [column], (value,))
    with pytest.raises(InputError, match="column"):
        encode_snapshot([column], Snapshot(0, (value,)))


@pytest.mark.parametrize("values", [(1.5, 1.0), (2**63, 1.0), (1, "x"), (1,)])
def test_tiles_that_do_not_fit_are_refused(values: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="ring tier 'exposures/5m'"):
        encode_slot(golden_layout().ring_tier("exposures/5m"), Tile(1, 1, 1, values))


ARRAYS = (Column("i", "int[]"), Column("f", "float[]"), Column("s", "str[]"), Column("n", "int"))
ARRAY_ROWS = st.tuples(
    st.none() | st.lists(INT64, max_size=3),
    st.none() | st.lists(FLOAT, max_size=3),
    st.none() | st.lists(TEXT, max_size=3),
    st.none() | INT64,
)


def _array_order(row: tuple[Any, ...]) -> list[Any]:
    """The order that is promised: null lowest, element by element, a prefix first."""

    def keyed(value: Any) -> Any:
        return value.encode() if isinstance(value, str) else value + 0.0 if isinstance(value, float) else value

    return [(v is not None, [keyed(item) for item in v] if isinstance(v, list) else (v or 0)) for v in row]


@given(ARRAY_ROWS, ARRAY_ROWS)
def test_bytes_of_ranks_order_like_arrays(row1: Any, row2: Any) -> None:
    for form in ("utf-8", "utf-16-be"):
        left, right = encode_rank(0, ARRAYS, row1).encode(form), encode_rank(0, ARRAYS, row2).encode(form)
        assert (left < right) == (_array_order(row1) < _array_order(row2))
        assert (left == right) == (_array_order(row1) == _array_order(row2))


@given(INT64, ARRAY_ROWS)
def test_arrays_round_trip(ts_us: int, row: tuple[Any, ...]) -> None:
    assert decode_rank(ARRAYS, encode_rank(ts_us, ARRAYS, row).encode()) == Rank(ts_us, row)
    (snapshot,) = decode_snapshots(ARRAYS, b"\1" + encode_snapshot(ARRAYS, Snapshot(ts_us, row)))
    assert snapshot == Snapshot(ts_us, row)


@pytest.mark.parametrize(
    "row", [([None], None, None, 1), ([1.5], None, None, 1), (None, ["a"], None, 1), (1, [], [], 1)]
)
def test_wrong_arrays_are_refused(row: tuple[Any, ...]) -> None:
    with pytest.raises(InputError):
        encode_rank(0, ARRAYS, row)
    with pytest.raises(InputError):
        encode_snapshot(ARRAYS, Snapshot(0, row))


def test_cut_arrays_are_refused() -> None:
    rank = encode_rank(0, ARRAYS, ([1], [0.5], ["a"], 1)).encode()
    snapshot = b"\1" + encode_snapshot(ARRAYS, Snapshot(0, ([1], [0.5], ["a"], 1)))
    for end in range(16, len(rank)):
        with pytest.raises(CodecError):
            decode_rank(ARRAYS, rank[:end])
    for end in range(2, len(snapshot)):
        with pytest.raises(CodecError):
            decode_snapshots(ARRAYS, snapshot[:end])
