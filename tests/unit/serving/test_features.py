from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from featuredsl.errors import DependencyError, InputError
from serving.breaker import Breaker
from serving.config import FeatureBudget
from serving.features import FeatureFetcher, Fetched, Lookup
from serving.metrics import Metrics
from serving.wire import RequestError
from tests.support.serving import FakeSource, Read

USER = Lookup("user", ("user_id",), ("clicks", "last", "ratio"), frozenset({"ratio"}), ("int",))
ROW = {"clicks": Read(3), "last": Read("x"), "ratio": Read(0.5)}
BUDGET = FeatureBudget(budget_ms=20, breaker_failures=2, breaker_open_s=10, stale_max_age_s=60)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def fetcher(source: FakeSource, clock: Clock | None = None, *lookups: Lookup) -> FeatureFetcher:
    return FeatureFetcher(source, lookups or (USER,), BUDGET, Metrics(), clock or Clock())


async def fetch(one: FeatureFetcher, **entities: Any) -> Fetched:
    return await one.fetch(entities or {"user_id": 7}, 1_000, {"price": 2})


def test_values_statuses_time_and_request_inputs_go_through() -> None:
    source = FakeSource({("user", (7,)): {**ROW, "last": Read(None, "NULL")}})
    fetched = asyncio.run(fetch(fetcher(source)))
    assert fetched.values == {"user__clicks": 3, "user__last": None, "user__ratio": 0.5}
    assert fetched.statuses == {"user__clicks": "OK", "user__last": "NULL", "user__ratio": "OK"}
    assert (fetched.flags, fetched.error) == ((), None)
    assert source.calls == [((("user", (7,)),), 1_000, {"price": 2})]


def test_over_budget_uses_last_good_values_but_never_old_request_time_ones() -> None:
    async def scenario() -> Fetched:
        source = FakeSource({("user", (7,)): ROW})
        one = fetcher(source)
        await fetch(one)
        source.gate = asyncio.Event()
        late = await fetch(one)
        assert source.cancelled == 1
        return late

    late = asyncio.run(scenario())
    assert late.values == {"user__clicks": 3, "user__last": "x", "user__ratio": None}
    assert late.statuses == {"user__clicks": "STALE", "user__last": "STALE", "user__ratio": "DEGRADED"}
    assert (late.flags, late.error) == (("features_stale",), "timeout")


def test_without_a_last_good_value_or_with_too_old_a_one_features_are_null() -> None:
    async def scenario() -> tuple[Fetched, Fetched]:
        source, clock = FakeSource({("user", (7,)): ROW}), Clock()
        one = fetcher(source, clock)
        await fetch(one)
        source.error = DependencyError("Redis is away")
        other = await fetch(one, user_id=8)
        clock.now += 61
        return other, await fetch(one)

    for fetched in asyncio.run(scenario()):
        assert set(fetched.values.values()) == {None}
        assert (fetched.flags, fetched.error) == (("features_missing",), "store")


def test_the_breaker_stops_reads_then_lets_one_probe_through() -> None:
    async def scenario() -> list[tuple[int, str | None]]:
        source, clock = FakeSource({("user", (7,)): ROW}, error=OSError("reset")), Clock()
        one = fetcher(source, clock)
        seen = []
        for step in (0, 0, 0, 11, 0, 11, 0):
            clock.now += step
            if step == 11 and len(source.calls) == 3:
                source.error = None
            fetched = await fetch(one)
            seen.append((len(source.calls), fetched.error))
        return seen

    assert asyncio.run(scenario()) == [
        (1, "store"),
        (2, "store"),
        (2, "breaker_open"),
        (3, "store"),
        (3, "breaker_open"),
        (4, None),
        (5, None),
    ]


def test_only_one_probe_runs_at_a_time() -> None:
    breaker = Breaker(1, 5.0)
    breaker.failure(0.0)
    assert [breaker.allow(t) for t in (1.0, 5.0, 5.1)] == [False, True, False]
    breaker.abandon()
    assert breaker.allow(5.2)
    breaker.success()
    assert breaker.allow(5.3)
    assert not breaker.is_open


def test_a_cancelled_request_cancels_its_read_and_is_no_failure() -> None:
    async def scenario() -> tuple[int, Fetched]:
        source = FakeSource({("user", (7,)): ROW}, gate=asyncio.Event())
        one = fetcher(source)
        for _ in range(5):
            task = asyncio.create_task(fetch(one))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        cancelled, source.gate = source.cancelled, None
        return cancelled, await fetch(one)

    cancelled, after = asyncio.run(scenario())
    assert cancelled == 5
    assert after.error is None
    assert after.values["user__clicks"] == 3


def test_missing_entities_and_wrong_key_types() -> None:
    source = FakeSource({("user", (7,)): ROW})
    two = fetcher(source, None, USER, Lookup("item", ("item_id",), ("price",)))
    fetched = asyncio.run(fetch(two))
    assert fetched.values["item__price"] is None
    assert (fetched.flags, fetched.error) == (("entity_missing",), None)
    with pytest.raises(RequestError, match=r"\$\.entities\.user_id: group 'user' has int keys, found '7'"):
        asyncio.run(fetch(two, user_id="7"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_become_null_and_are_flagged(value: float) -> None:
    fetched = asyncio.run(fetch(fetcher(FakeSource({("user", (7,)): {**ROW, "clicks": Read(value)}}))))
    assert fetched.values["user__clicks"] is None
    assert (fetched.flags, fetched.error) == (("features_not_finite",), "not_finite")


def test_lists_stay_out_of_the_context_and_unknown_features_are_degraded() -> None:
    fetched = asyncio.run(fetch(fetcher(FakeSource({("user", (7,)): {"clicks": Read([1, 2])}}))))
    assert "user__clicks" not in fetched.values
    assert fetched.statuses == {"user__clicks": "OK", "user__last": "DEGRADED", "user__ratio": "DEGRADED"}


def test_a_request_input_of_the_wrong_type_is_refused() -> None:
    class Reader(FakeSource):
        async def get(self, keys: Any, at_us: int, request: Any = None) -> Any:
            raise InputError("user: request input 'vec' is list[float]: an array holds a null; elements are never null")

    one = fetcher(Reader({}))
    for _ in range(3):
        with pytest.raises(RequestError, match="request input 'vec'") as refused:
            asyncio.run(fetch(one))
        assert (refused.value.status, refused.value.code) == (400, "bad_features")
    assert not one.breaker_open


def test_an_array_has_a_status_but_is_no_model_input() -> None:
    source = FakeSource({("user", (7,)): {**ROW, "last": Read([0.5, 1.0])}})
    fetched = asyncio.run(fetch(fetcher(source)))
    assert fetched.values == {"user__clicks": 3, "user__ratio": 0.5}
    assert fetched.statuses["user__last"] == "OK"
    assert fetched.flags == ()


class Remembered(list[Any]):
    """Rows as a reader gives them from memory."""

    error: DependencyError | None = None


@pytest.mark.parametrize(
    ("row", "flag", "cause", "reason"),
    [
        ({"clicks": Read(3, "STALE"), "last": Read("x", "STALE"), "ratio": Read(0.7, "STALE")}, "features_stale",
         TimeoutError(), "timeout"),
        ({"clicks": Read(0, "NOT_FOUND"), "last": Read(None, "NOT_FOUND"), "ratio": Read(None, "NOT_FOUND")},
         "features_missing", OSError("reset"), "store"),
    ],
)  # fmt: skip
def test_what_a_reader_gives_from_memory_is_used_and_counts_as_a_failure(
    row: dict[str, Read], flag: str, cause: Exception, reason: str
) -> None:
    class Reader(FakeSource):
        async def get(self, keys: Any, at_us: int, request: Any = None) -> Any:
            rows = Remembered([row])
            try:
                raise DependencyError("Redis is away") from cause
            except DependencyError as error:
                rows.error = error
            return rows

    async def scenario() -> tuple[Fetched, Fetched, Fetched]:
        one = fetcher(Reader({}))
        return await fetch(one), await fetch(one), await fetch(one)

    first, second, third = asyncio.run(scenario())
    for fetched in (first, second):
        assert fetched.values == {f"user__{name}": read.value for name, read in row.items()}
        assert fetched.statuses == {f"user__{name}": read.status for name, read in row.items()}
        assert (fetched.flags, fetched.error) == ((flag,), reason)
    assert third.error == "breaker_open"
    assert third.flags == ("features_missing",)  # what came from memory is not kept as if it had been read
