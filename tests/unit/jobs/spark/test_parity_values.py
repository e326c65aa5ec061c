"""The offline side of parity for on-demand features: arrays, derived ones, what the request gave."""

from __future__ import annotations

import pytest

from featuredsl.errors import InputError
from featuredsl.nodes import Value
from featuredsl.parity import LoggedRead, ReadValue, behind, compare
from featuredsl.plan import GroupPlan
from jobs.spark.parity import with_on_demand
from tests.unit.featuredsl.test_derived import G

PLAN: GroupPlan = G.plan  # type: ignore[attr-defined]
STORED: dict[str, Value] = {"vec": [3.0, 4.0], "tags": ["x"]}


def read(features: dict[str, ReadValue], query: object) -> LoggedRead:
    return LoggedRead(5, "g", ("a",), {"query": query}, features)  # type: ignore[dict-item]


def test_derived_features_are_computed_from_the_logged_request() -> None:
    found = with_on_demand(PLAN, read({}, [3, 4]), STORED)
    assert found == STORED | {"similarity": 1.0, "halved": [1.5, 2.0], "weight": 5.5, "scaled": 5.5}
    with pytest.raises(InputError, match="request input 'query'"):
        with_on_demand(PLAN, read({}, "[3, 4]"), STORED)


def test_arrays_are_compared_by_element() -> None:
    offline = with_on_demand(PLAN, read({}, [3, 4]), STORED)
    online = offline | {"halved": [1.5, 2.0 + 1e-12], "tags": ["y"]}
    logged = read({name: ReadValue(value, "OK", 5, 4) for name, value in online.items()}, [3, 4])
    report = compare({"g": PLAN}, [logged], [offline])
    (wrong,) = [feature for feature in report.as_json()["features"] if feature["first_divergence"]]
    assert (wrong["feature"], wrong["mismatch"], wrong["non_trivial"]) == ("tags", 1, 1)
    assert (wrong["first_divergence"]["online"], wrong["first_divergence"]["offline"]) == (["y"], ["x"])


def test_what_is_derived_from_a_late_feature_is_late() -> None:
    late = read({"vec": ReadValue([1.0], "STALE", 5, 4), "tags": ReadValue(["x"], "OK", 5, 4)}, None)
    assert behind(PLAN, late) == {"vec", "similarity", "halved", "weight", "scaled"}
