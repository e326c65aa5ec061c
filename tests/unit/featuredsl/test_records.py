"""`featuredsl.records` against the standard library's dataclasses: the same classes made by both behave alike."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from featuredsl import records

MAKERS: tuple[Any, ...] = (dataclasses, records)


def base_of(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True)
    class Base(ABC):
        """A base."""

        name: str
        size: int = 3

        @abstractmethod
        def text(self) -> str: ...

    return Base


def point_of(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True)
    class Point(base_of(maker)):  # type: ignore[misc]
        """A record with each kind of field."""

        tags: list[str] = maker.field(default_factory=list, compare=False, repr=False)
        total: int = maker.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", len(self.tags) + self.size)

        def text(self) -> str:
            return f"{self.name}{self.total}"

        @property
        def double(self) -> int:
            return 2 * self.size

    return Point


def said(call: Callable[[], object]) -> str:
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


CALLS: dict[str, Callable[[Any], object]] = {
    "positions": lambda made: made("a", 4, ["x"]),
    "names": lambda made: made(size=5, name="b"),
    "text": lambda made: made("a", 4, ["x"]).text(),
    "property": lambda made: made("a").double,
    "factory": lambda made: made("a").tags is made("a").tags,
    "equal": lambda made: made("a", 1, ["x"]) == made("a", 1, ["y"]),
    "not equal": lambda made: made("a", 1) == made("a", 2),
    "another type": lambda made: made("a", 1) == ("a", 1),
    "hash": lambda made: hash(made("a", 1, ["x"])) == hash(made("a", 1)),
    "set": lambda made: setattr(made("a"), "name", "b"),
    "delete": lambda made: delattr(made("a"), "name"),
    "dict": lambda made: hasattr(made("a"), "__dict__"),
    "missing": lambda made: made(),
    "unknown": lambda made: made("a", colour=1),
    "too many": lambda made: made("a", 1, [], 2),
    "match": lambda made: made.__match_args__,
    "doc": lambda made: made.__doc__,
    "fields": lambda made: [field.name for field in dataclasses.fields(made)],
    "as dict": lambda made: dataclasses.asdict(made("a", 1, ["x"])),
    "replace": lambda made: dataclasses.replace(made("a", 1, ["x"]), size=9),
    "replace what is not given": lambda made: dataclasses.replace(made("a"), total=9),
    "deep copy": lambda made: copy.deepcopy(made("a", 1, ["x"])).tags,
    "abstract": lambda made: made.__mro__[1]("a"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_record_does_what_a_dataclass_does(name: str) -> None:
    standard, ours = (said(lambda maker=maker: CALLS[name](point_of(maker))) for maker in MAKERS)
    assert ours == standard


def test_signature_after_the_first_record() -> None:
    standard, ours = (point_of(maker) for maker in MAKERS)
    ours("a")
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(standard).parameters)


def test_replace_keeps_the_rest_and_runs_post_init() -> None:
    point = records.replace(point_of(records)("a", 1, ["x"]), size=9)
    assert (point.name, point.tags, point.total) == ("a", ["x"], 10)


@records.dataclass(frozen=True, slots=True)
class Pickled:
    """At the top of a module, where pickle finds it."""

    name: str
    parts: tuple[int, ...] = ()


@records.dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Equal to itself only."""

    name: str


@records.dataclass(slots=True)
class Counter:
    """May change, so it has no hash."""

    count: int = 0


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(Pickled("a", (1, 2)))) == Pickled("a", (1, 2))


def test_without_equality() -> None:
    one = Same("a")
    assert one == one
    assert one != Same("a")
    assert len({one, Same("a")}) == 2


def test_what_may_change() -> None:
    counter = Counter()
    counter.count += 2
    assert counter == Counter(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_own_methods_are_kept() -> None:
    def own_of(maker: ModuleType) -> Any:
        @maker.dataclass(frozen=True, slots=True)
        class Own:
            """Its own text, equality and hash."""

            name: str

            def __repr__(self) -> str:
                return "own"

            def __eq__(self, other: object) -> bool:
                return isinstance(other, str)

            def __hash__(self) -> int:
                return 7

        return Own

    for maker in MAKERS:
        own = own_of(maker)("a")
        assert (repr(own), own == "x", hash(own)) == ("own", True, 7)
