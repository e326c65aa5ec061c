"""The text of an on-demand function: it changes with everything that changes a value, and with nothing else."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import numpy as np
import pytest

from featuredsl.errors import DefinitionError
from featuredsl.loader import load_definitions

BASE = '''
import math
from types import MappingProxyType

from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str, "x": int})
FACTOR = 2
RATES = MappingProxyType({"a": 1, "b": 2})
KINDS = frozenset({"a", "b"})
PAIR = (1, (2.0, "x"))


def scaled(x: int, by: int = 10) -> int:
    return deeper(x) * by


def deeper(x: int) -> int:
    return x + FACTOR


def make(offset: int):
    def shift(x: int) -> int:
        return x + offset

    return shift


shift = make(5)


@feature_group(name="g", entity="u", owner="a", tags=("t",))
class G:
    """Docs."""

    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", ttl="1d")
    def last(e: events) -> int:
        """The last x."""
        return e.latest().x

    @on_demand(inputs=["n", "last"], request={"k": str})
    def score(n: int, last: int, k: str) -> float:
        """How good."""
        # a comment
        def inner(y: int) -> int:
            return y * 3

        return math.floor(scaled(n)) + inner(shift(last)) + RATES[k] + len(KINDS) + PAIR[0]
'''


def version(tmp_path: Path, *changes: tuple[str, str]) -> str:
    source = BASE
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    file = tmp_path / "definitions.py"
    file.write_text(source, encoding="utf-8")
    return load_definitions(file)["g"].version


SAME = {
    "docs": [('"""How good."""', '"""Better."""'), ('"""Docs."""', '"""Other."""'), ('"""The last x."""', '""""""')],
    "owner": [('owner="a"', 'owner="b"')],
    "tags": [('tags=("t",)', 'tags=("u", "v")'), ('ttl="1d"', 'ttl="1d", tags=["w"]')],
    "comments": [("# a comment", "# another\n        # more")],
    "layout": [("RATES[k] + len(KINDS)", "RATES[\n            k\n        ] + len(KINDS)")],
    "order of a mapping": [('{"a": 1, "b": 2}', '{"b": 2, "a": 1}')],
    "order of inputs": [('["n", "last"]', '["last", "n"]')],
    "a global that is not used": [("FACTOR = 2", "FACTOR = 2\nOTHER = [1]")],
    "pii tags of columns": [('"x": int}', '"x": int}, pii=("x",)')],
}
OTHER = {
    "a constant of a helper's helper": [("FACTOR = 2", "FACTOR = 3")],
    "the type of a constant": [("FACTOR = 2", "FACTOR = 2.0")],
    "a default argument": [("by: int = 10", "by: int = 11")],
    "a helper": [("deeper(x) * by", "deeper(x) + by")],
    "a nested function": [("y * 3", "y * 4")],
    "a captured value": [("make(5)", "make(6)")],
    "a mapping": [('"b": 2', '"b": 3')],
    "a set": [('"a", "b"})', '"a", "c"})')],
    "a nested tuple": [('(2.0, "x")', '(2.0, "y")')],
    "a function of a module": [("math.floor", "math.ceil")],
    "the type of the result": [("k: str) -> float", "k: str) -> float | None")],
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_the_version_stays(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    assert version(tmp_path, *changes) == version(tmp_path)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_the_version_changes(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    assert version(tmp_path, *changes) != version(tmp_path)


def test_the_order_of_features_does_not_count(tmp_path: Path) -> None:
    first, second = BASE.index("    @feature(freshness"), BASE.index('    @feature(freshness="realtime", ttl')
    third = BASE.index("    @on_demand")
    moved = BASE[:first] + BASE[second:third] + BASE[first:second] + BASE[third:]
    assert version(tmp_path, (BASE, moved)) == version(tmp_path)


def test_attributes_of_a_module_count_but_its_other_names_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    changes = [("import math", "import math\nimport fdsl_cfg as cfg"), ("x + FACTOR", "x + cfg.SCALE + cfg.plus(x)")]

    def with_module(text: str) -> str:
        monkeypatch.delitem(sys.modules, "fdsl_cfg", raising=False)
        (tmp_path / "fdsl_cfg.py").write_text(text, encoding="utf-8")
        return version(tmp_path, *changes)

    base = with_module("SCALE = 2\nSTEP = 1\n\ndef plus(x):\n    return x + STEP\n")
    longer = "OTHER = []\n\n\nSCALE = 2\nSTEP = 1\n\ndef plus(x):\n    '''Docs.'''\n    return x + STEP\n"
    assert with_module(longer) == base
    assert with_module("SCALE = 30\nSTEP = 1\n\ndef plus(x):\n    return x + STEP\n") != base
    assert with_module("SCALE = 2\nSTEP = 10\n\ndef plus(x):\n    return x + STEP\n") != base
    with pytest.raises(DefinitionError, match="module 'fdsl_cfg' has no 'SCALE'"):
        with_module("STEP = 1\n\ndef plus(x):\n    return x\n")


def test_numpy_counts_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [("import math", "import math\nimport numpy as np"), ("x + FACTOR", "int(np.log1p(x)) + FACTOR")]
    before = version(tmp_path, *changes)
    monkeypatch.setattr(np, "__version__", "99.0")
    assert version(tmp_path, *changes) != before


def test_cached_and_wrapped_helpers_count_by_what_they_wrap(tmp_path: Path) -> None:
    cached = [
        ("import math", "import math\nfrom functools import lru_cache"),
        ("def deeper", "@lru_cache\ndef deeper"),
    ]
    first = version(tmp_path, *cached)
    assert version(tmp_path, *cached, ("x + FACTOR", "x - FACTOR")) != first


def head(text: str) -> tuple[str, str]:
    return "import math", f"import math\n{text}"


def body(text: str) -> tuple[str, str]:
    return "x + FACTOR", text


IDENTITY = "\n\n\ndef same(m):\n    return m\n"
SETTING = "\n\n\ndef setting(x):\n    cfg.seen = x\n    return x\n"


def test_patterns_and_exact_numbers_are_constants(tmp_path: Path) -> None:
    patterns = head("import re\nfrom decimal import Decimal\n\nWORD = re.compile('a+')\nRATE = Decimal('0.1')")
    use = body("x + len(WORD.findall(str(RATE)))")
    base = version(tmp_path, patterns, use)
    assert version(tmp_path, patterns, use, ("'a+'", "'b+'")) != base
    assert version(tmp_path, patterns, use, ("'a+'", "'a+', re.I")) != base
    assert version(tmp_path, patterns, use, ("'0.1'", "'0.10'")) != base


REFUSED = {
    "through a helper": ([body("x + clock()"), head("from time import time as clock")], "through deeper"),
    "in a default": ([("by: int = 10", "by=[10]")], "a list that may change"),
    "in a nested function": ([("y * 3", "y * open('x').tell()")], "uses open()"),
    "numpy.random": ([body("x + np.random.rand()"), head("import numpy as np")], "differ at every call"),
    "a module as a value": ([body("same(featuredsl)"), head(f"import featuredsl{IDENTITY}")], "as a whole"),
    "a bound method": (
        [body("dice()"), head("import random\n\ndice = random.Random(1).random")],
        "differ at every call",
    ),
    "hash": ([("RATES[k]", "hash(k)")], "between processes"),
    "a partial": ([body("half(x)"), head("import functools\n\nhalf = functools.partial(pow, 2)")], "a partial"),
    "a write to a module": ([body("setting(x)"), head(f"import pytest as cfg{SETTING}")], "sets cfg.seen"),
}


@pytest.mark.parametrize(("changes", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(changes: list[tuple[str, str]], text: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as caught:
        version(tmp_path, *changes)
    assert text in str(caught.value)
    assert str(caught.value).startswith("score (")
    assert "definitions.py:" in str(caught.value)


def test_functions_of_a_notebook_cell_and_of_a_test_have_text() -> None:
    text = BASE.replace("by: int = 10", "by: int = 11")
    linecache.cache["<cell-1>"] = (len(text), None, text.splitlines(keepends=True), "<cell-1>")
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, "<cell-1>", "exec"), names)
    assert len(names["G"].plan.version) == 12  # type: ignore[attr-defined]
