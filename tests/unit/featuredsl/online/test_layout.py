"""Layout arithmetic against the golden ring, and what a layout refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from featuredsl.errors import DefinitionError
from featuredsl.online.layout import BatchTier, Column, LookupField, RingTier, StoreLayout

RING = json.loads((Path(__file__).parents[3] / "golden" / "online" / "ring.json").read_text())


def golden_layout() -> StoreLayout:
    tiers = tuple(
        RingTier(t["name"], t["hop_us"], t["slots"], tuple(Column(**c) for c in t["columns"])) for t in RING["tiers"]
    )
    return StoreLayout(
        group=RING["group"],
        version=RING["version"],
        entity=(Column("user", "str"), Column("item", "int")),
        ring=tiers,
        lookups=(LookupField("last", (Column("s", "str"),)),),
        batch=(BatchTier("1h", (Column("n", "int"),)),),
        expire_after_us=0,
    )


def test_offsets_sizes_header_and_keys() -> None:
    layout = golden_layout()
    assert layout.header().hex() == RING["header"]
    assert [layout.offset(t["name"]) for t in RING["tiers"]] == [t["offset"] for t in RING["tiers"]]
    assert [layout.slot_size(t["name"]) for t in RING["tiers"]] == [48, 40]
    assert layout.total_size == RING["total_size"]
    assert layout.key(("a{b", 7), "R") == "g@v1:{a%7Bb|7}:R"
    assert layout.key(("", 0), "X") == "g@v1:{|0}:X"
    assert layout.hash_fields == ("l:last", "b:1h")


def test_header_follows_the_ring_only() -> None:
    layout = golden_layout()
    slower = replace(layout.ring[0], slots=5)
    assert replace(layout, version="v2", lookups=(), expire_after_us=1).header() == layout.header()
    assert replace(layout, ring=(slower, layout.ring[1])).header() != layout.header()
    assert replace(layout, ring=(layout.ring[1], layout.ring[0])).header() != layout.header()


def test_a_group_without_ring_has_no_ring_bytes() -> None:
    assert replace(golden_layout(), ring=()).total_size == 0


def test_unknown_names_say_what_exists() -> None:
    layout = golden_layout()
    with pytest.raises(DefinitionError, match=r"exposures/5m"):
        layout.offset("exposures/1d")
    with pytest.raises(DefinitionError, match="'1h'"):
        layout.batch_tier("1d")
    with pytest.raises(DefinitionError, match="user"):
        layout.key(("only one",), "R")


def test_refused_layouts() -> None:
    column = Column("c", "int")
    with pytest.raises(DefinitionError, match="dtype"):
        Column("c", "bytes")
    with pytest.raises(DefinitionError, match="positive"):
        RingTier("t", 0, 1, (column,))
    with pytest.raises(DefinitionError, match="at most 64"):
        RingTier("t", 1, 1, (column,) * 65)
    with pytest.raises(DefinitionError, match="not int or float"):
        RingTier("t", 1, 1, (Column("s", "str"),))
    tier = RingTier("t", 1, 1, (column,))
    with pytest.raises(DefinitionError, match="repeated"):
        replace(golden_layout(), ring=(tier, tier))
    with pytest.raises(DefinitionError, match="longer hop"):
        replace(golden_layout(), ring=(RingTier("t", 1, 100_000, (column,)),))
    with pytest.raises(DefinitionError, match="negative"):
        replace(golden_layout(), expire_after_us=-1)
