from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from featuredsl.ccb.types import Action
from featuredsl.errors import InputError
from serving.catalog import Catalog
from serving.metrics import Metrics
from serving.wire import CandidateBody
from tests.support.serving import NOW_MS


def item(action_id: str, features: Any) -> bytes:
    return json.dumps({"action_id": action_id, "ts": NOW_MS, "features": features}).encode()


@pytest.fixture
def catalog() -> Catalog:
    result = Catalog(Metrics())
    for name in ("a", "b"):
        result.apply(name.encode(), item(name, {"brand": name.upper()}))
    return result


def test_ids_get_the_catalogs_features_and_own_features_win(catalog: Catalog) -> None:
    actions, unknown = catalog.resolve(("a", CandidateBody("b"), CandidateBody("b2", {"brand": "own"}), "z"))
    assert actions == (
        Action("a", {"brand": "A"}),
        Action("b", {"brand": "B"}),
        Action("b2", {"brand": "own"}),
        Action("z"),
    )
    assert unknown == 1


def test_the_same_ids_give_the_identical_set_until_the_catalog_changes(catalog: Catalog) -> None:
    first, _ = catalog.resolve(("a", "b"))
    assert catalog.resolve(("a", CandidateBody("b")))[0] is first
    catalog.apply(b"b", item("b", {"brand": "new"}))
    assert catalog.resolve(("a", "b"))[0] == (Action("a", {"brand": "A"}), Action("b", {"brand": "new"}))


def test_deleted_actions_are_unknown(catalog: Catalog) -> None:
    catalog.apply(b"a", None)
    catalog.apply(b"b", item("b", None))
    assert catalog.resolve(("a", "b")) == ((Action("a"), Action("b")), 2)
    assert len(catalog) == 0


def test_bad_records_are_counted_and_heartbeats_ignored() -> None:
    metrics = Metrics()
    catalog = Catalog(metrics)
    for payload in (b"{", b"[]", b'{"ts": 1}', item("a", {"x": [1]}), b'{"heartbeat": true, "ts": 1750000000000}'):
        catalog.apply(None, payload)
    text = metrics.exposition().decode()
    counts = {
        line.split('reason="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith("featuredsl_catalog_rejected_total{")
    }
    assert counts == {"bad_json": 1, "not_object": 1, "missing_field": 1, "bad_type": 1}
    assert len(catalog) == 0


def test_a_file_is_loaded_and_an_unusable_one_is_an_error(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(item("a", {"x": 1}) + b"\n\nnot json\n" + item("b", {"x": 2}) + b"\n")
    bad.write_bytes(b"not json\n")
    catalog = Catalog(Metrics())
    catalog.load_file(good)
    assert len(catalog) == 2
    with pytest.raises(InputError, match="holds no valid record"):
        Catalog(Metrics()).load_file(bad)
    with pytest.raises(InputError, match="cannot read the catalog"):
        catalog.load_file(tmp_path / "none.jsonl")
