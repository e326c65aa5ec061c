"""What features over sources are worth, by plain loops over records: no product code, no SQL.

Times are microseconds. A record is a dict of columns with `ts` and, where the source has an arrival time, `arrival`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
Check = Callable[[Record], bool]
DELAY = {"realtime": 0, "5m": 30_000_000, "1h": 600_000_000, "1d": 3_600_000_000}
PERIOD = {"realtime": 0, "5m": 60_000_000, "1h": 3_600_000_000, "1d": 86_400_000_000}


@dataclass(frozen=True)
class Stream:
    """How the records of a source are read: its columns in order, and what its declaration says."""

    columns: tuple[str, ...]
    sequence: str | None = None
    arrival: bool = False
    unique: tuple[str, ...] = ()
    within: int | None = None

    def rank(self, record: Record) -> tuple[Any, ...]:
        """(sequence, row), nulls lowest."""
        sequence = self.sequence or ("arrival" if self.arrival else None)
        names = ([sequence] if sequence else []) + list(self.columns)
        return tuple((record.get(name) is not None, _low(record.get(name))) for name in names)

    def events(self, records: Sequence[Record]) -> list[Record]:
        """The records without the repeats."""
        if not self.unique:
            return list(records)
        kept = [r for r in records if any(r[key] is None for key in self.unique)]
        for key in {tuple(r[k] for k in self.unique) for r in records}:
            if None not in key:
                kept += self._first([r for r in records if tuple(r[k] for k in self.unique) == key])
        return kept

    def _first(self, same: list[Record]) -> list[Record]:
        axis = "arrival" if self.arrival else "ts"
        kept: list[Record] = []
        for record in sorted(same, key=lambda r: (r[axis], r["ts"], self._row(r))):
            if not kept or (self.within is not None and record[axis] - kept[-1][axis] > self.within):
                kept.append(record)
        return kept

    def _row(self, record: Record) -> tuple[Any, ...]:
        names = ([self.sequence] if self.sequence else []) + list(self.columns)
        return tuple((record[name] is not None, _low(record[name])) for name in names)


def _low(value: Any) -> Any:
    return 0 if value is None else value.encode() if isinstance(value, str) else value


def asked(t: int, tier: str) -> int:
    """The time that a value read at t is computed for."""
    period = PERIOD[tier]
    return t if not period else (t - DELAY[tier]) // period * period


def known(stream: Stream, events: Sequence[Record], t: int, tier: str, as_known: bool = True) -> list[Record]:
    """The events that count when asked at t."""
    q = asked(t, tier)
    seen = [r for r in events if r["ts"] < q]
    return [r for r in seen if r["arrival"] <= q + DELAY[tier]] if stream.arrival and as_known else seen


def window(seen: Sequence[Record], t: int, tier: str, size: int, hop: int, offset: int = 0) -> list[Record]:
    """Those in the window."""
    q = asked(t, tier)
    low, high = (q - size - offset) // hop * hop, (q - offset) // hop * hop if offset else q
    return [r for r in seen if low <= r["ts"] < high]


def latest(stream: Stream, seen: Sequence[Record], t: int, tier: str, ttl: int | None) -> Record | None:
    """The latest of them."""
    q = asked(t, tier)
    young = [r for r in seen if ttl is None or r["ts"] >= q - ttl]
    return max(young, key=lambda r: (r["ts"], stream.rank(r)), default=None)


def row_at(rows: Sequence[Record], columns: Sequence[str], key: Sequence[Any], names: Sequence[str], t: int) -> Record:
    """The columns of a table's row that is valid at t, nulls when there is none."""
    same = [r for r in rows if r["ts"] <= t and None not in key and [r[n] for n in names] == list(key)]

    def rank(r: Record) -> tuple[Any, ...]:
        return (r["ts"], *((r[c] is not None, _low(r[c])) for c in columns))

    best = max(same, key=rank, default=None)
    return {c: None if best is None else best[c] for c in columns}
