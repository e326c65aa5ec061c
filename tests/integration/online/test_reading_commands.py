"""`get` and `explain-read` on a real Redis: every status with its reason, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from featuredsl.cli.main import run
from featuredsl.online.codec import Tile, encode_rank, encode_ring
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry
from tests.support.redis_process import RedisProcess

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str, "i": int, "price": float, "item": str})


@feature_group(name="pair", entity=("u", "i"))
class Pair:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def spend(e: events) -> float:
        return e.price.sum()

    @feature(freshness="realtime", window="1h", default=0.5)
    def mean(e: events) -> float:
        return e.price.mean()

    @feature(freshness="realtime", ttl="1h")
    def item(e: events) -> str:
        return e.latest().item

    @feature(freshness="1h", window="1d")
    def daily(e: events) -> int:
        return e.count()

    @on_demand(inputs=["spend"], request={"factor": float})
    def scaled(spend: float, factor: float) -> float:
        return spend * factor
"""
HOUR_US = 3_600_000_000
AT_US = 4_102_444_800_000_000
AT = "2100-01-01T00:00:00Z"
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(
    server: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Say:
    """Runs a command in a home where the definitions are applied: exit code, output, errors."""
    (tmp_path / "definitions.py").write_text(DEFINITIONS)
    for name in ("REGISTRY", "PREFIX"):
        monkeypatch.delenv(f"FEATUREDSL_{name}", raising=False)
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    monkeypatch.setenv("FEATUREDSL_REDIS", server.url)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    assert command("apply", str(tmp_path / "definitions.py"))[0] == 0
    return command


def write(server: RedisProcess, home: Path, key: tuple[str, int], age_us: int, spend: float | None) -> None:
    """Two events of a key so long before `AT`; `spend` of both, None: their prices are null."""
    layout = Registry.load(home / "registry").layout("pair")
    (tier,) = layout.ring
    event = AT_US - age_us
    partials = tuple(spend if column.dtype == "float" else (2 if i == 0 or spend is not None else 0)
                     for i, column in enumerate(tier.columns))  # fmt: skip
    tile = Tile(event // tier.hop_us, 2, event, partials)
    server.client.set(layout.key(key, "R"), encode_ring(layout, {tier.name: [tile]}))
    (field,) = layout.lookups
    row = [{"item": "x", "u": key[0], "i": key[1], "price": spend}.get(c.name) for c in field.columns]
    server.client.hset(layout.key(key, "X"), field.hash_field, encode_rank(event, field.columns, row))


def explained(say: Say, key: str) -> dict[str, dict[str, str]]:
    """Feature to its lines of `explain-read`."""
    code, out, err = say("explain-read", "pair", key, "--at", AT)
    assert (code, err) == (0, "")
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in out.splitlines():
        if " = " in line and line.startswith("  ") and not line.startswith("   "):
            name, _, rest = line.strip().partition(" = ")
            current = found[name] = {"is": rest}
        elif line.startswith("    "):
            kind, _, rest = line.strip().partition(":")
            current[kind] = rest.strip()
    return found


def test_get_of_several_keys_and_some_features(say: Say, server: RedisProcess, tmp_path: Path) -> None:
    write(server, tmp_path, ("a|b", 1), 60_000_000, 7.5)
    options = ["--at", AT, "--request", "factor=2", "--features", "scaled, n"]
    code, out, err = say("get", "pair", "a%7Cb|1", "none|-2", *options, "--json")
    assert (code, err) == (0, "")
    data: dict[str, Any] = json.loads(out)
    assert data["group"] == "pair"
    assert data["version"] == Registry.load(tmp_path / "registry").store_versions["pair"]
    assert data["rows"] == [
        {
            "key": ["a|b", 1],
            "features": {
                "scaled": {"value": 15.0, "status": "OK", "as_of": "2100-01-01T00:00:00.000000Z",
                           "event_time": "2099-12-31T23:59:00.000000Z"},
                "n": {"value": 2, "status": "OK", "as_of": "2100-01-01T00:00:00.000000Z",
                      "event_time": "2099-12-31T23:59:00.000000Z"},
            },
        },
        {
            "key": ["none", -2],
            "features": {
                "scaled": {"value": None, "status": "NOT_FOUND", "as_of": "2100-01-01T00:00:00.000000Z",
                           "event_time": None},
                "n": {"value": 0, "status": "NOT_FOUND", "as_of": "2100-01-01T00:00:00.000000Z", "event_time": None},
            },
        },
    ]  # fmt: skip
    code, table, _ = say("get", "pair", "a%7Cb|1", "none|-2", *options)
    assert code == 0
    assert "a%7Cb|1" in table
    assert "none|-2" in table
    assert [cell in table for cell in ("15.0", "OK", "NOT_FOUND", "23:59:00", "daily")] == [True] * 4 + [False]


def test_json_has_no_nan(say: Say, server: RedisProcess, tmp_path: Path) -> None:
    write(server, tmp_path, ("k", 1), 60_000_000, float("nan"))
    code, out, err = say("get", "pair", "k|1", "--at", AT, "--json", "--features", "spend")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"][0]["features"]["spend"]["status"] == "NULL"
    assert json.loads(out)["rows"][0]["features"]["spend"]["value"] is None


def test_every_status_is_explained(say: Say, server: RedisProcess, tmp_path: Path) -> None:
    layout = Registry.load(tmp_path / "registry").layout("pair")
    write(server, tmp_path, ("ok", 1), 90_000_000, 7.5)
    found = explained(say, "ok|1")
    assert found["n"]["is"].startswith("2 OK, as of 2100-01-01T00:00:00.000000Z, newest event 2099-12-31T23:58:30")
    assert "1 of 1 filled tiles events/5m are inside" in found["n"]["from"]
    assert found["n"]["why"] == "newest event 2099-12-31T23:58:30.000000Z (1m 30s before)"
    assert "do" not in found["n"]
    assert found["item"]["from"].startswith(
        "field l:item, the latest event before 2100-01-01T00:00:00.000000Z, at most 1h"
    )
    assert found["daily"]["is"].startswith("0 STALE, as of unknown")
    assert (found["daily"]["why"], found["daily"]["do"]) == (
        "no batch is complete as of then or before", "featuredsl run batch",
    )  # fmt: skip
    assert found["scaled"]["why"] == "the function gave null, or a request value is missing"

    write(server, tmp_path, ("null", 1), 90_000_000, None)
    found = explained(say, "null|1")
    assert found["spend"]["is"].startswith("None NULL")
    assert "their" in found["spend"]["why"]
    assert found["mean"]["is"].startswith("0.5 DEFAULT")
    assert found["mean"]["why"].endswith("the declared default stands in")
    assert found["scaled"]["why"] == "spend is null, and the function does not take null for it"

    write(server, tmp_path, ("old", 1), 5 * HOUR_US, 7.5)
    found = explained(say, "old|1")
    assert (
        found["n"]["why"]
        == "no event is inside; the newest event of this key was at 2099-12-31T19:00:00.000000Z (5h before)"
    )
    assert "lag of the feature job" in found["n"]["do"]
    assert found["item"]["is"].startswith("None EXPIRED")
    assert "expired at 2099-12-31T20:00:00.000000Z" in found["item"]["why"]

    with OnlineStore(server.url) as store:
        store.write_batch(layout, "1h", AT_US - 3 * HOUR_US, [(("old", 1), (4,))])
        store.mark_batch(layout, "1h", AT_US - 3 * HOUR_US)
    found = explained(say, "old|1")
    assert found["daily"]["is"].startswith("4 STALE, as of 2099-12-31T21:00:00")
    assert "2h behind what tier 1h promises" in found["daily"]["why"]
    assert "without this key" in explained(say, "ok|1")["daily"]["why"]


def test_a_key_that_is_not_there_is_explained_once(say: Say, tmp_path: Path) -> None:
    layout = Registry.load(tmp_path / "registry").layout("pair")
    code, out, _ = say("explain-read", "pair", "never|1", "--at", AT)
    head, *lines = out.splitlines()
    assert (code, head) == (0, f"pair@{layout.version} never|1 at 2100-01-01T00:00:00.000000Z: no such key")
    values = [line.strip() for line in lines if " = " in line]
    assert len(values) == 6
    assert all(value.endswith(" NOT_FOUND") for value in values)
    whys = [line for line in lines if line.startswith("    why:")]
    assert len(whys) == len(set(whys)) == 2
    assert layout.key(("never", 1), "R") in whys[0]
    assert whys[1] == "    why: the status is that of its input spend"
    assert [line for line in lines if line.startswith("    do:")] == [
        "    do:   check how the key is written, and that the feature job runs for this version",
        "    do:   check how the key is written, and that featuredsl run batch (tier 1h) runs for this version",
        "    do:   see that input",
    ]


def test_a_feature_that_readers_do_not_follow_yet(say: Say, server: RedisProcess, tmp_path: Path) -> None:
    before = Registry.load(tmp_path / "registry").layout("pair").version
    with OnlineStore(server.url) as store:
        store.set_current("pair", before)
    more = DEFINITIONS.replace(
        "    @on_demand(",
        """    @feature(freshness="realtime", window="1h")
    def fresh(e: events) -> float:
        return e.price.max()

    @on_demand(""",
    )
    (tmp_path / "definitions.py").write_text(more)
    assert say("apply", str(tmp_path / "definitions.py"))[0] == 0
    after = Registry.load(tmp_path / "registry").store_version("pair")
    code, out, err = say("get", "pair", "a|1", "--features", "fresh,n", "--json")
    assert (code, list(json.loads(out)["rows"][0]["features"])) == (0, ["n"])
    assert err == (
        f"warning: readers follow pair@{before}, which does not have fresh: {after} has, and is not filled yet\n"
    )


def test_exit_codes(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("get", "explain-read"):
        code, _, err = say(command, "pare", "k|1")
        assert (code, "Did you mean 'pair'?" in err) == (2, True)
        code, _, err = say(command, "pair", "k")
        assert (code, "has 1 part(s), the entity has 2" in err) == (2, True)
        code, _, err = say(command, "pair", "k|x")
        assert (code, "not a decimal 64-bit integer" in err) == (2, True)
    code, _, err = say("get", "pair", "k|1", "--features", "n,spent")
    assert (code, "Did you mean 'spend'?" in err) == (2, True)
    monkeypatch.setenv("FEATUREDSL_REDIS", "redis://127.0.0.1:1/0")
    for command in ("get", "explain-read"):
        code, out, err = say(command, "pair", "k|1")
        assert (code, out, len(err.splitlines())) == (4, "", 1)
        assert "redis://127.0.0.1:1/0 does not answer" in err
    monkeypatch.delenv("FEATUREDSL_REDIS")
    assert say("get", "pair", "k|1")[0] == 4
