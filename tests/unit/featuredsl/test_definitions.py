"""Definitions: what a class becomes, and what a wrong one is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from featuredsl import EventSource, feature, feature_group, on_demand, ratio, window
from featuredsl.errors import DefinitionError
from featuredsl.loader import load_definitions
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry, apply

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "item": str, "price": float, "n": int})
views = EventSource("views", event_time="ts", schema={"user": str, "item": str})
PLAIN = 3
BROKEN = object()


def helper(x: float) -> float:
    return x * PLAIN


def build(price_unit: int = 1) -> GroupPlan:
    @feature_group(name="g", entity="user", owner="me")
    class G:
        """Docs."""

        @feature(freshness="realtime", window=["1h", "24h"])
        def n(c: clicks) -> int:
            return c.count()

        @feature(freshness="realtime", window="1h")
        def rate(c: clicks, v: views) -> float:
            return ratio(c.count(), v.count())

        @feature(freshness="realtime", ttl="1d")
        def last(c: clicks) -> str:
            return c.latest().item

        @on_demand(inputs=["rate"], request={"price": float})
        def scaled(rate: float, price: float) -> float | None:
            return helper(rate) * price

    plan: GroupPlan = G.plan  # type: ignore[attr-defined]
    return plan


def test_names_entity_and_version() -> None:
    plan = build()
    assert plan.feature_names == ("n_1h", "n_24h", "rate", "last", "scaled")
    assert plan.entity == (("user", "str"),)
    assert plan.version == build().version
    assert len(plan.version) == 12
    assert plan.location.file.endswith("test_definitions.py")


def define(body: Callable[[], object]) -> str:
    with pytest.raises(DefinitionError) as caught:
        body()
    return str(caught.value)


def wrong_column() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> float:
        return c.prise.sum()

    group(f)


def group(*features: object, entity: str = "user") -> None:
    body = {getattr(f, "function", f).__name__: f for f in features}
    feature_group(name="g", entity=entity)(type("G", (), body | {"__module__": __name__}))


def no_window() -> None:
    @feature(freshness="realtime")
    def f(c: clicks) -> int:
        return c.count()

    group(f)


def wrong_type() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> int:
        return c.price.sum()

    group(f)


def unknown_tier() -> None:
    @feature(freshness="realtme", window="1h")
    def f(c: clicks) -> int:
        return c.count()

    group(f)


def missing_entity() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> int:
        return c.count()

    group(f, entity="usr")


def ttl_on_window() -> None:
    @feature(freshness="realtime", window="1h", ttl="1d")
    def f(c: clicks) -> int:
        return c.count()

    group(f)


def bad_hop() -> None:
    @feature(freshness="realtime", window=window("1h", hop="7m"))
    def f(c: clicks) -> int:
        return c.count()

    group(f)


def short_window() -> None:
    @feature(freshness="realtime", window="5s")
    def f(c: clicks) -> int:
        return c.count()

    group(f)


def no_source() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: int) -> int:
        return c

    group(f)


def truth_value() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> int:
        return c.filter(c.n > 1 and c.price > 2).count()

    group(f)


def sum_of_text() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> int:
        return c.item.sum()

    group(f)


def mixed_types() -> None:
    @feature(freshness="realtime", window="1h")
    def f(c: clicks) -> int:
        return c.filter(c.item == 3).count()

    group(f)


def unknown_input() -> None:
    @feature(freshness="realtime", window="1h")
    def n(c: clicks) -> int:
        return c.count()

    @on_demand(inputs=["m"])
    def f(m: int) -> int:
        return m

    group(n, f)


def captured_object() -> None:
    @feature(freshness="realtime", window="1h")
    def n(c: clicks) -> int:
        return c.count()

    @on_demand(inputs=["n"])
    def f(n: int) -> bool:
        return n == BROKEN

    group(n, f)


def default_of_another_type() -> None:
    @feature(freshness="realtime", window="1h", default="none")
    def f(c: clicks) -> float:
        return c.price.mean()

    group(f)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (
            wrong_column,
            ["f (", "test_definitions.py:", "'prise'", "user, item, price, n", "Did you mean 'price'?"],
        ),
        (no_window, ["needs window="]),
        (wrong_type, ["declared int but gives float"]),
        (unknown_tier, ["'realtme'", "realtime, 5m, 1h, 1d", "Did you mean 'realtime'?"]),
        (missing_entity, ["entity column 'usr'", "Did you mean 'user'?"]),
        (ttl_on_window, ["takes no ttl"]),
        (bad_hop, ["hop 7m does not divide the window 1h"]),
        (short_window, ["5s", "at least 12s"]),
        (no_source, ["parameter 'c'", "sources here", "clicks"]),
        (truth_value, ["no truth value", "& | ~"]),
        (sum_of_text, ["sum() takes a number, not str"]),
        (mixed_types, ["'==' takes two values of one type, not str and int"]),
        (unknown_input, ["input 'm'", "it has: n"]),
        (captured_object, ["uses 'BROKEN'", "object"]),
        (default_of_another_type, ["default 'none' is not of type float"]),
    ],
)
def test_wrong_definition_says_what_and_where(body: Callable[[], object], parts: list[str]) -> None:
    text = define(body)
    assert [part for part in parts if part not in text] == []


SOURCE = '''
from featuredsl import EventSource, feature, feature_group, on_demand
{head}
events = EventSource("events", event_time="ts", schema={{"u": str, "x": int}})
FACTOR = {factor}

@feature_group(name="g", entity="u", owner="{owner}")
class G:
    """{doc}"""

{features}

    @on_demand(inputs=["n"])
    def scaled(n: int) -> int:
        # a comment
        return n * FACTOR
'''
FIRST = '    @feature(freshness="realtime", window="1h")\n    def n(e: events) -> int:\n        return e.count()\n'
SECOND = '    @feature(freshness="realtime", ttl="1d")\n    def last(e: events) -> int:\n        return e.latest().x\n'


def version(tmp_path: Path, **changes: str) -> str:
    values = {
        "head": "",
        "factor": "2",
        "owner": "a",
        "doc": "d",
        "features": FIRST + "\n" + SECOND,
    } | changes
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE.format(**values))
    return load_definitions(file)["g"].version


def test_fingerprint_is_meaning_only(tmp_path: Path) -> None:
    base = version(tmp_path)
    assert version(tmp_path, owner="b", doc="other") == base
    assert version(tmp_path, head="import math\n\n\n") == base
    assert version(tmp_path, features=SECOND + "\n" + FIRST) == base
    assert version(tmp_path, head="# nothing\n") == base


@pytest.mark.parametrize(
    "changes",
    [
        {"factor": "3"},
        {"features": FIRST.replace("1h", "2h") + "\n" + SECOND},
        {"features": FIRST + "\n" + SECOND.replace("1d", "2d")},
        {"features": FIRST.replace("e.count()", "e.filter(e.x > 0).count()") + "\n" + SECOND},
    ],
)
def test_fingerprint_changes_with_meaning(tmp_path: Path, changes: dict[str, str]) -> None:
    assert version(tmp_path, **changes) != version(tmp_path)


def test_apply_is_idempotent_and_loads_back(tmp_path: Path) -> None:
    expected = version(tmp_path)
    root = tmp_path / "registry"
    first = apply(root, tmp_path / "definitions.py", store_suffix="r1")
    assert first == apply(root, tmp_path / "definitions.py", store_suffix="r1") == {"g": f"{expected}-r1"}
    registry = Registry.load(root)
    assert registry.group("g").version == expected
    assert registry.layout("g").key(("k|1",), "R") == f"g@{expected}-r1:{{k%7C1}}:R"
    assert sorted(p.suffix for p in root.glob("[!.]*")) == [".json", ".py"]


def test_a_node_keeps_no_hash_across_processes() -> None:
    script = (
        "import pickle, sys; from featuredsl.nodes import Column, Literal, call;"
        "node = call('+', Column('n', 'int'), Literal(1, 'int'));"
        "other = pickle.loads(bytes.fromhex(sys.argv[1])) if sys.argv[1:] else node;"
        "print(pickle.dumps(node).hex() if not sys.argv[1:] else (other == node, hash(other) == hash(node)))"
    )
    first, second = ({**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2"))
    command = [sys.executable, "-c", script]
    made = subprocess.run(command, env=first, capture_output=True, text=True, check=True).stdout.strip()
    read = subprocess.run([*command, made], env=second, capture_output=True, text=True, check=True).stdout.strip()
    assert read == "(True, True)"


def test_a_registry_loads_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = "@feature_group(name='g{0}', entity='user')\nclass G{0}:\n    @feature(freshness='realtime', window='1h')\n"
    text = "from featuredsl import EventSource, feature, feature_group\n"
    text += "e = EventSource('e', event_time='ts', schema={'user': str})\n"
    text += "".join(group.format(i) + "    def n(e: e) -> int:\n        return e.count()\n" for i in range(5))
    (tmp_path / "defs.py").write_text(text)
    apply(tmp_path / "registry", tmp_path / "defs.py")
    loaded: list[Path] = []

    def load(path: Path) -> dict[str, GroupPlan]:
        loaded.append(path)
        return load_definitions(path)

    monkeypatch.setattr("featuredsl.registry.load_definitions", load)
    assert set(Registry.load(tmp_path / "registry").groups) == {f"g{i}" for i in range(5)}
    assert len(loaded) == 1
