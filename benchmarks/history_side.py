"""Our sides and the hand-written SQL of the history benchmark: SIDE FOLDER OUT; prints what it took.

`sql-*` sides have the tables in DuckDB already and time the query alone; `files-*` go from Parquet to Parquet.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions

_LATEST = """SELECT l.label_id, {columns} FROM labels l ASOF LEFT JOIN {source} e
  ON l.{key} = e.{key} AND l.ts_us > e.ts_us"""
_FIRST = """(SELECT * FROM {source} QUALIFY ROW_NUMBER() OVER (PARTITION BY "{key}", ts_us ORDER BY {order}) = 1)"""


def _lookups(users: str, items: str) -> str:
    """The three lookups from relations of the events."""
    week, day = (f"CASE WHEN e.ts_us >= l.ts_us - {days * 86_400_000_000} THEN e.{{0}} END AS" for days in (7, 1))
    of_user = f"{week.format('price')} u__price, {week.format('n')} u__n"
    of_item = f"{day.format('stock')} i__stock"
    return (
        f"WITH u AS ({_LATEST.format(source=users, key='user', columns=of_user)}), "
        f"i AS ({_LATEST.format(source=items, key='item', columns=of_item)}) "
        "SELECT label_id, u__price, u__n, i__stock FROM u JOIN i USING (label_id)"
    )


FIRST_LOOKUPS = _lookups(
    _FIRST.format(source="users", key="user", order="price DESC NULLS LAST, n DESC NULLS LAST"),
    _FIRST.format(source="items", key="item", order="stock DESC NULLS LAST"),
)


def _frame(hours: int, hop_us: int) -> str:
    """A window with its start on the hop, up to just before the label."""
    size = hours * 3_600_000_000
    start = f"CASE WHEN label_id IS NULL THEN 1 ELSE {size} + (ts_us - {size}) % {hop_us} END"
    return f'(PARTITION BY "user" ORDER BY ts_us RANGE BETWEEN ({start}) PRECEDING AND 1 PRECEDING)'


WINDOWS = f"""
WITH rows AS (
  SELECT label_id, "user", ts_us, NULL::DOUBLE AS price, NULL::BIGINT AS n, NULL::INT AS one FROM labels
  UNION ALL SELECT NULL, "user", ts_us, price, n, 1 FROM users),
framed AS (
  SELECT label_id, COUNT(one) OVER h AS u__count_1h, COUNT(one) OVER d AS u__count_1d, COUNT(one) OVER w AS u__count_7d,
    SUM(price) OVER h AS u__spent_1h, SUM(price) OVER d AS u__spent_1d, SUM(price) OVER w AS u__spent_7d,
    MAX(n) OVER d AS u__most_1d, MAX(n) OVER w AS u__most_7d
  FROM rows WINDOW h AS {_frame(1, 300_000_000)}, d AS {_frame(24, 3_600_000_000)}, w AS {_frame(168, 3_600_000_000)}),
latest AS ({
    _LATEST.format(
        source="users", key="user", columns="CASE WHEN e.ts_us >= l.ts_us - 604800000000 THEN e.price END AS u__price"
    )
})
SELECT f.*, u__price FROM framed f JOIN latest USING (label_id) WHERE label_id IS NOT NULL"""
HAND = {"hand-lookups": FIRST_LOOKUPS, "loose-lookups": _lookups("users", "items"), "hand-windows": WINDOWS}


def _tables(folder: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    for name in ("users", "items"):
        con.execute(f"CREATE TABLE {name} AS SELECT *, epoch_us(ts) AS ts_us FROM '{folder / name}.parquet'")
    con.execute(
        'CREATE TABLE labels AS SELECT number AS label_id, "user", item, epoch_us(ts) AS ts_us '
        f"FROM '{folder / 'labels'}.parquet'"
    )
    return con


def ours(folder: Path, work: str) -> tuple[duckdb.DuckDBPyConnection, str]:
    """The tables and the generated query; several groups are joined by label."""
    queries = [point_in_time(plan, DUCKDB) for plan in load_definitions(folder / f"{work}.py").values()]
    joined = " JOIN ".join(f"({query}) q{i}" + (" USING (label_id)" if i else "") for i, query in enumerate(queries))
    return _tables(folder), f"SELECT * FROM {joined}"


def _to_file(con: duckdb.DuckDBPyConnection, out: Path) -> None:
    con.execute(f"COPY (SELECT * FROM made ORDER BY label_id) TO '{out}' (FORMAT parquet)")


def _files(folder: Path, work: str, out: Path) -> None:
    files = {name: folder / f"{name}.parquet" for name in ("users", "items")}
    groups = load_definitions(folder / f"{work}.py")
    build(HistoryRequest(groups, files, read_labels(folder / "labels.parquet", "us"))).write(out)


def _timed(call: Callable[[], object]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def main(side: str, folder: Path, out: Path) -> None:
    """Run one side once: `sql-ours-windows`, `sql-hand-lookups`, `files-ours-lookups` …"""
    kind, whose, work = side.split("-")
    if kind == "files":
        spent = _timed(lambda: _files(folder, work, out))
    else:
        con, query = ours(folder, work) if whose == "ours" else (_tables(folder), HAND[f"{whose}-{work}"])
        spent = _timed(lambda: con.execute(f"CREATE TABLE made AS {query}"))
        _to_file(con, out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(spent | {"peak_mb": peak, "version": duckdb.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
