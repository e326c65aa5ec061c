"""When readers may follow a new store version: as soon as it is closed as far as the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from featuredsl.errors import DependencyError
from featuredsl.online.meta import StoreMeta
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.tiles import closed_mark_names
from featuredsl.times import MINUTE
from jobs.flink.handle import JobHandle
from jobs.flink.publishing import wait_closed
from tests.support.table_groups import Bought

PLAN: GroupPlan = Bought.plan  # type: ignore[attr-defined]
NAMES = sorted(closed_mark_names(PLAN))
AT = 30_000_000 * MINUTE


class Metas:
    """A store and a job, by what they say at each look."""

    def __init__(self, *metas: StoreMeta) -> None:
        self.metas: Iterator[StoreMeta] = iter(metas)
        self.checked = 0

    def meta(self) -> StoreMeta:
        return next(self.metas)

    def check(self) -> None:
        self.checked += 1


def meta(old: dict[str, int], new: dict[str, int]) -> StoreMeta:
    closed = {f"bought@old/{name}": (time,) for name, time in old.items()}
    closed |= {f"bought@new/{name}": (time,) for name, time in new.items()}
    return StoreMeta({"bought": "old"}, {}, closed)


def waited(*metas: StoreMeta, wait_s: float = 10) -> tuple[int, list[str]]:
    found: Any = Metas(*metas)
    said: list[str] = []
    wait_closed(cast("OnlineStore", found), [PLAN], cast("JobHandle", found), {"bought": "new"}, wait_s, said.append)
    assert next(found.metas, None) is None
    return found.checked, said


def test_marks_of_every_deferred_tier() -> None:
    assert NAMES == [
        "buys+items+maker_makers/30s@5m",
        "buys+items/1m@5m",
        "buys+items/30s@5m",
        "buys+items/30s@5m/states",
        "buys+items/latest@5m",
        "buys+items/session_20s@5m",
        "sales+items/30s@5m",
    ]


def test_readers_wait_until_every_tier_is_as_far_as_the_old_one_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.flink.publishing.POLL_S", 0.001)
    everywhere = dict.fromkeys(NAMES, AT)
    old = {"visits/1h@5m": AT, "visits/latest@5m": AT + MINUTE}
    most = {**everywhere, "buys+items/latest@5m": AT - MINUTE}
    later = {name: time + MINUTE for name, time in old.items()}
    metas = [meta(old, {}), meta(old, {}), meta(later, {NAMES[0]: AT}), meta(later, most), meta(later, everywhere)]
    checked, (said,) = waited(*metas)
    assert checked == 3
    assert "bought has nothing closed yet, what readers follow up to " in said


def test_a_tier_of_the_old_version_that_not_every_subtask_has_marked_is_not_waited_for() -> None:
    half = StoreMeta({"bought": "old"}, {}, {"bought@old/visits/1h@5m": (), "bought@old/visits/latest@5m": (AT,)})
    assert waited(half, half) == (0, [])


def test_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for first in (meta({}, {}), StoreMeta({}, {}, {})):
        assert waited(first, first) == (0, [])
    with pytest.raises(DependencyError, match=r"bought is closed up to .* what readers follow up to"):
        waited(*[meta({"v": AT}, dict.fromkeys(NAMES, AT - MINUTE))] * 3, wait_s=0)
