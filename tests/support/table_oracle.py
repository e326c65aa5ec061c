"""The features of `table_groups`, counted in a loop over all events and rows that were ever sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from featuredsl.times import MINUTE, SECOND

START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
GAP, WITHIN = 20 * SECOND, 60 * MINUTE
BOUGHT = ("spend", "books", "unknown", "kinds", "last_tags", "visit", "foreign", "sold")
Record = dict[str, Any]


def ordered(row: Record, names: tuple[str, ...]) -> tuple[Any, ...]:
    """A row as it is ordered: column by column, nulls lowest."""
    return tuple((row.get(name) is not None, row.get(name) or 0) for name in names)


@dataclass
class Sent:
    """Everything that counts, with times from the epoch."""

    buys: list[Record] = field(default_factory=list)
    copies: list[Record] = field(default_factory=list)
    items: list[Record] = field(default_factory=list)
    makers: list[Record] = field(default_factory=list)

    def valid(self, table: str, key: str, value: Any, at: int, columns: tuple[str, ...]) -> Record:
        """The row of a table as of a time, or one of nulls."""
        found = [r for r in getattr(self, table) if value is not None and r[key] == value and r["since"] <= at]
        row = max(found, key=lambda r: (r["since"], ordered(r, columns)), default={})
        return {name: row.get(name) for name in columns}

    def with_item(self, event: Record) -> Record:
        return event | self.valid("items", "x", event["x"], event["ts"], ("price", "kind", "tags"))

    def firsts(self) -> list[Record]:
        """The copies that are events: the first of an id, and the first after an hour without one."""
        kept: dict[str, int] = {}
        found = []
        for copy in sorted(self.copies, key=lambda r: (r["ts"], ordered(r, ("n", "u", "x")))):
            if copy["id"] not in kept or copy["ts"] - kept[copy["id"]] > WITHIN:
                kept[copy["id"]] = copy["ts"]
                found.append(copy)
        return found


def by_kind(sent: Sent, kind: str, as_of: int) -> dict[str, Any]:
    """The group by kind as of a closed minute."""

    def within(events: list[Record]) -> list[Record]:
        low = (as_of - 10 * MINUTE) // (30 * SECOND) * 30 * SECOND
        return [e for e in map(sent.with_item, events) if low <= e["ts"] < as_of and e["kind"] == kind]

    made = [e["n"] for e in within(sent.firsts()) if e["n"] is not None]
    return {"n": len(within(sent.buys)), "made": sum(made) if made else None}


def bought(sent: Sent, u: str, as_of: int) -> dict[str, Any]:
    """The group by user as of a closed minute; `kinds` needs times that differ."""
    mine = [sent.with_item(e) for e in sent.buys if e["u"] == u and e["ts"] < as_of]
    mine.sort(key=lambda e: (e["ts"], ordered(e, ("x", "n", "price", "kind", "tags"))))
    low = as_of - 10 * MINUTE
    recent = [e for e in mine if e["ts"] >= low]
    spend = [e["price"] * e["n"] for e in recent if e["price"] is not None and e["n"] is not None]
    kinds = [e["kind"] for e in recent if e["kind"] is not None]
    makers = [sent.valid("makers", "kind", e["kind"], e["ts"], ("country",))["country"] for e in recent]
    others = [sent.with_item(e) for e in sent.firsts() if e["u"] == u and low <= e["ts"] < as_of]
    sold = [e["price"] for e in (*recent, *others) if e["price"] is not None]
    visit = [e["price"] for e in last_closed(mine, as_of) if e["price"] is not None]
    return {
        "spend": sum(spend) if spend else None,
        "books": sum(e["kind"] == "book" for e in recent),
        "unknown": sum(e["kind"] is None for e in recent),
        "kinds": kinds[:-4:-1] or None,
        "last_tags": mine[-1]["tags"] if mine else None,
        "visit": sum(visit) if visit else None,
        "foreign": sum(country not in (None, "here") for country in makers),
        "sold": sum(sold) if sold else None,
    }


def last_closed(events: list[Record], as_of: int) -> list[Record]:
    """The last session, of sorted events, that has closed."""
    runs: list[list[Record]] = []
    for event in events:
        if not runs or event["ts"] - runs[-1][-1]["ts"] >= GAP:
            runs.append([])
        runs[-1].append(event)
    return next((run for run in reversed(runs) if run[-1]["ts"] + GAP <= as_of), [])
