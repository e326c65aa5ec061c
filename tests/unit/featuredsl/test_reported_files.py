"""Reported failures around files, definitions and keys: labels that multiply, columns that differ, types that miss."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl.errors import InputError
from featuredsl.finalize import NOT_FOUND, Finalizer
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_text
from featuredsl.online.codec import decode_ring
from featuredsl.online.request import EntityState
from featuredsl.prepared import Prepared
from featuredsl.registry import Registry, apply
from featuredsl.tiles import store_layout

T = 1_767_225_600_000
DEFINITIONS = """
from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, on_demand

views = EventSource("views", event_time="{time}", schema={{"u": int, "i": str, "v": int}})

@feature_group(name="g", entity=("u", "i"))
class G:
    @feature(freshness="realtime")
    def last(e: views) -> int:
        return e.latest().v

    @feature(freshness="realtime", window="1h")
    def n(e: views) -> int:
        return e.count()

    @on_demand(inputs=["n"], request={{"r": float}})
    def per_r(n: int, r: float) -> float:
        return n / r
"""


def definitions(time: str = "ts", future: bool = True) -> str:
    text = DEFINITIONS.format(time=time)
    return text if future else text.replace("from __future__ import annotations\n", "")


def view(at: int, u: int | None = 1, i: str | None = "p", v: int | None = 1, time: str = "ts") -> dict[str, Any]:
    return {"u": u, "i": i, "v": v, time: T + at}


def save(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows in the format of the suffix."""
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if path.suffix != ".jsonl":
        found = duckdb.sql(f"SELECT * FROM read_json('{lines}', format = 'newline_delimited')")
        found.write_csv(str(path)) if path.suffix == ".csv" else found.write_parquet(str(path))
    return path


def rows_of(
    folder: Path, events: list[dict[str, Any]], labels: list[dict[str, Any]], suffix: str = ".jsonl", time: str = "ts"
) -> list[dict[str, Any]]:
    plans = load_text(definitions(time), "defs.py")
    asked = read_labels(save(folder / f"labels{suffix}", labels), "ms")
    return list(build(HistoryRequest(plans, {"views": save(folder / f"events{suffix}", events)}, asked)).rows)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_equal_labels_stay_equal_rows_beside_many_versions(tmp_path: Path, suffix: str) -> None:
    """feast#1693, #5590: three equal labels and four versions are three rows; another entity of the time is another."""
    events = [view(at, v=at) for at in (10, 20, 30, 40)] + [view(35, i="q", v=7)]
    label = {"u": 1, "i": "p", "ts": T + 35, "r": 2.0}
    rows = rows_of(tmp_path, events, [label, {**label, "i": "q", "ts": T + 36}, label, label], suffix)
    assert [(row["g__last"], row["g__n"], row["g__per_r"]) for row in rows] == [
        (30, 3, 1.5),
        (7, 1, 0.5),
        (30, 3, 1.5),
        (30, 3, 1.5),
    ]


def test_online_and_offline_return_the_same_columns(tmp_path: Path) -> None:
    """feast#4479: the features of the group, whatever is asked of the request."""
    (row,) = rows_of(tmp_path, [view(1)], [{"u": 1, "i": "p", "ts": T + 2, "r": 4.0}])
    (plan,) = load_text(definitions(), "defs.py").values()
    online = Finalizer(plan).values(EntityState(False, _no_ring(plan), {}, {}), T * 1000, {}, {"r": 4.0})
    assert [name for name in row if name.startswith("g__")] == [f"g__{name}" for name in online]
    assert set(row) - {f"g__{name}" for name in online} == {"u", "i", "ts", "r"}


def test_an_unknown_key_has_a_value_and_a_status_where_a_function_uses_it() -> None:
    """feast#4473: nothing raises."""
    (plan,) = load_text(definitions(), "defs.py").values()
    state = EntityState(False, _no_ring(plan), {}, {})
    values = Finalizer(plan).values(state, T * 1000, {}, {"r": 4.0})
    assert (values["per_r"].value, values["per_r"].status) == (0.0, NOT_FOUND)
    values = Finalizer(plan).values(state, T * 1000, {}, {"r": 0.0})
    assert (values["per_r"].value, values["per_r"].status) == (None, NOT_FOUND)


def _no_ring(plan: Any) -> Any:
    return decode_ring(store_layout(plan), None)


@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"])
@pytest.mark.parametrize("label_kind", ["INTEGER", "BIGINT", "UBIGINT", "VARCHAR"])
def test_keys_match_whatever_integer_the_file_holds(tmp_path: Path, kind: str, label_kind: str) -> None:
    """feast#5357, #4110, #3565."""
    events, labels = tmp_path / "e.parquet", tmp_path / "l.parquet"
    duckdb.sql(f"SELECT 101::{kind} AS u, 'p' AS i, 1 AS v, {T} AS ts").write_parquet(str(events))
    duckdb.sql(f"SELECT 101::{label_kind} AS u, 'p' AS i, {T + 1} AS ts, 1.0::DOUBLE AS r").write_parquet(str(labels))
    plans = load_text(definitions(), "defs.py")
    (row,) = build(HistoryRequest(plans, {"views": events}, read_labels(labels, "ms"))).rows
    assert row["g__last"] == 1


@pytest.mark.parametrize("part", ["1001", 1001.0, True, None, b"1001"])
def test_a_key_of_another_type_is_an_error_not_a_null(tmp_path: Path, part: object) -> None:
    """feast#5357."""
    (tmp_path / "defs.py").write_text(definitions())
    apply(tmp_path / "registry", tmp_path / "defs.py")
    registry = Registry.load(tmp_path / "registry")
    place = Prepared(registry, ()).part("g").place(registry.store_version("g"))
    assert place.text((1001, "p")) == "1001|p"
    with pytest.raises(InputError, match="key part 'u' is int"):
        place.text((part, "p"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"keyed by \(u, i\); got 1"):
        place.text((1001,))


@pytest.mark.parametrize(
    "time", ["ts", "t", "event_timestamp", "order", "time", "Zeit", "Übergang", "a b", "ts_us2", "u_ts"]
)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_time_may_have_any_name(tmp_path: Path, time: str, suffix: str) -> None:
    """featureform#423."""
    labels = [{"u": 1, "i": "p", "ts": T + at, "r": 1.0} for at in (0, 1)]
    rows = rows_of(tmp_path, [view(0, v=5, time=time)], labels, suffix, time)
    assert [(row["g__last"], row["g__n"]) for row in rows] == [(None, 0), (5, 1)]


def test_definitions_mean_the_same_with_and_without_postponed_annotations() -> None:
    """hamilton#91, #1259, #1297."""
    (postponed,) = load_text(definitions(), "defs.py").values()
    (plain,) = load_text(definitions(future=False), "defs.py").values()
    assert postponed.version == plain.version
    assert [f.dtype for f in postponed.features] == [f.dtype for f in plain.features] == ["int", "int"]


def test_a_function_with_globals_works_in_a_clean_process(tmp_path: Path) -> None:
    """feast#5620, #5893, #6815, #5679, #5182: the helper and its constant go with the definition."""
    (tmp_path / "defs.py").write_text(
        definitions()
        .replace(
            "@feature_group", "TIMES = 3\n\ndef scaled(x: float) -> float:\n    return x * TIMES\n\n@feature_group"
        )
        .replace("return n / r", "return scaled(r)")
    )
    apply(tmp_path / "registry", tmp_path / "defs.py")
    (tmp_path / "defs.py").unlink()
    program = (
        "import sys\nfrom pathlib import Path\nfrom featuredsl.registry import Registry\n"
        "from featuredsl.ondemand import compute_all\n"
        "plan = Registry.load(Path(sys.argv[1])).group('g')\n"
        "print(compute_all(plan, {'n': 1, 'last': None}, {'r': 2.0})['per_r'])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "registry")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.returncode) == ("6.0", 0), ran.stderr


def test_applying_again_and_again_grows_nothing(tmp_path: Path) -> None:
    """feast#5800, #4222, #2905: the registry does not depend on how often it was written."""

    def state() -> dict[str, str]:
        files = sorted(path for path in (tmp_path / "registry").rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    (tmp_path / "defs.py").write_text(definitions())
    apply(tmp_path / "registry", tmp_path / "defs.py", at_us=1)
    first = state()
    for at_us in range(2, 102):
        apply(tmp_path / "registry", tmp_path / "defs.py", at_us=at_us)
    assert state() == first


def test_the_same_events_in_any_format_and_order_give_the_same_bytes(tmp_path: Path) -> None:
    """OpenMLDB#1629, #2544: with equal times, late rows and nulls."""
    events = [view(at, v=v) for at, v in product((1, 2, 3), (1, 2, None))]
    labels = [{"u": 1, "i": "p", "ts": T + at, "r": 1.0} for at in range(6)]
    expected = rows_of(tmp_path, events, labels)
    assert [row["g__last"] for row in expected] == [None, None, 2, 2, 2, 2]
    for suffix in (".jsonl", ".csv", ".parquet"):
        for order in (events[::-1], events[1::2] + events[::2]):
            found = rows_of(tmp_path, order, labels, suffix)
            assert [(row["g__last"], row["g__n"]) for row in found] == [
                (row["g__last"], row["g__n"]) for row in expected
            ]


@pytest.mark.parametrize("name", ["größe", "名", "v_", "V"])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_columns_may_have_letters_of_any_script(tmp_path: Path, name: str, suffix: str) -> None:
    text = definitions().replace('"v": int', f'"{name}": int').replace("latest().v", f"latest().{name}")
    events = save(tmp_path / f"e{suffix}", [{"u": 1, "i": "日本", name: 7, "ts": T}])
    labels = save(tmp_path / "l.jsonl", [{"u": 1, "i": "日本", "ts": T + 1, "r": 1.0}])
    (row,) = build(HistoryRequest(load_text(text, "defs.py"), {"views": events}, read_labels(labels, "ms"))).rows
    assert row["g__last"] == 7


ZONES = [
    "2026-01-01T00:30:00Z",
    "2026-01-01T09:30:00+09:00",
    "2025-12-31T16:30:00.000-08:00",
    "2026-01-01 06:15:00+05:45",
]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_times_of_any_zone_are_one_time(tmp_path: Path, suffix: str) -> None:
    """An event at a label's time is not seen, one before is, whatever the zones that they are written in."""
    events = save(tmp_path / "e.jsonl", [])
    events.write_text("".join(json.dumps({"u": n, "i": "p", "v": n, "ts": at}) + "\n" for n, at in enumerate(ZONES)))
    lines = [f"{n},p,{at.replace('30:00', '30:00.000001', 1).replace('15:00', '15:00.000001', 1)},1.0" for n in range(4)
             for at in ZONES if ".000-" not in at] + [f"{n},p,{at},1.0" for n in range(4) for at in ZONES]  # fmt: skip
    if suffix == ".csv":
        labels = tmp_path / "l.csv"
        labels.write_text("u,i,ts,r\n" + "".join(line + "\n" for line in lines))
    else:
        rows = (line.split(",") for line in lines)
        labels = tmp_path / "l.jsonl"
        labels.write_text("".join(json.dumps({"u": int(u), "i": i, "ts": t, "r": 1.0}) + "\n" for u, i, t, _ in rows))
    plans = load_text(definitions(), "defs.py")
    found = build(HistoryRequest(plans, {"views": events}, read_labels(labels, "ms"))).rows
    assert [row["g__last"] for row in found] == [n for n in range(4) for _ in range(3)] + [None] * 16


DAILY = """
from featuredsl import EventSource, feature, feature_group

views = EventSource("views", event_time="ts", schema={"u": int, "at_us": int})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="1d", window="1d")
    def day(e: views) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def early(e: views) -> int:
        return e.filter(e.at_us.hour_of_day() < 6).count()
"""


def test_the_zone_of_the_process_changes_nothing(tmp_path: Path) -> None:
    """Days and hours are those of UTC; Tokyo's and New York's day ends elsewhere."""
    (tmp_path / "defs.py").write_text(DAILY)
    times = [T + hour * 3_600_000 for hour in range(-30, 30)]
    save(tmp_path / "views.jsonl", [{"u": 1, "ts": at, "at_us": at * 1000} for at in times])
    save(tmp_path / "labels.jsonl", [{"u": 1, "ts": T + hour * 3_600_000 + 1} for hour in (-1, 0, 1, 5, 6, 23, 24, 25)])
    outputs = []
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        out = tmp_path / f"{zone.replace('/', '_')}.jsonl"
        command = [sys.executable, "-m", "featuredsl.cli.main", "history", str(tmp_path / "defs.py")]
        command += ["--events", f"views={tmp_path / 'views.jsonl'}", "--labels", str(tmp_path / "labels.jsonl")]
        subprocess.run([*command, "--out", str(out)], check=True, env=os.environ | {"TZ": zone}, capture_output=True)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
    rows = [json.loads(line) for line in outputs[0].splitlines()]
    # The day of q = floor(t - 1 h, 1 d): 24 events of it once the data reaches back; events of the hour before t.
    assert [row["g__day"] for row in rows] == [6, 6, 24, 24, 24, 24, 24, 24]
    assert [row["g__early"] for row in rows] == [0, 1, 2, 2, 1, 0, 1, 2]
