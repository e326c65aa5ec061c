"""Definitions over slowly changing tables in the tier of closed minutes: numbers, states of variable width, latest
values, sessions; a table joined to a joined stream, to a union, to a source with copies; an entity of a table."""

from __future__ import annotations

from featuredsl import EventSource, TableSource, feature, feature_group, session, union, window


class Buy:
    """Something bought in the shop."""

    u: str
    x: int
    n: int


class Copy:
    """The same elsewhere, where records are sent again."""

    u: str
    x: int
    n: int
    id: str


class Item:
    """What is sold."""

    x: int
    price: int
    kind: str
    tags: list[str]


class Maker:
    """Who makes a kind of item."""

    kind: str
    country: str


buys = EventSource("buys", event_time="ts", time_unit="us", schema=Buy)
copies = EventSource("copies", event_time="ts", time_unit="us", schema=Copy, unique="id", within="1h", sequence="n")
sales = union("sales", buys, copies)
items = TableSource("items", key="x", valid_from="since", time_unit="us", schema=Item)
makers = TableSource(
    "makers", key="kind", valid_from="since", time_unit="us", schema=Maker, time_range=("1900", "2100")
)


@feature_group(name="bought", entity="u", owner="tests", retention="3650d")
class Bought:
    """What somebody bought, as the items were then."""

    @feature(freshness="5m", window="10m")
    def spend(e: buys) -> int | None:
        j = e.join(items)
        return (j.price * j.n).sum()

    @feature(freshness="5m", window=window("10m", hop="1m"))
    def books(e: buys) -> int:
        j = e.join(items)
        return j.filter(j.kind == "book").count()

    @feature(freshness="5m", window="10m")
    def unknown(e: buys) -> int:
        j = e.join(items)
        return j.filter(j.kind.is_null()).count()

    @feature(freshness="5m", window="10m")
    def kinds(e: buys) -> list[str] | None:
        return e.join(items).kind.last_k(3)

    @feature(freshness="5m")
    def last_tags(e: buys) -> list[str] | None:
        return e.join(items).latest().tags

    @feature(freshness="5m", window=session("20s"))
    def visit(e: buys) -> int | None:
        return e.join(items).price.sum()

    @feature(freshness="5m", window="10m")
    def foreign(e: buys) -> int:
        j = e.join(items).join(makers, prefix="maker_")
        return j.filter(j.maker_country != "here").count()

    @feature(freshness="5m", window="10m")
    def sold(e: sales) -> int | None:
        return e.join(items).price.sum()

    @feature(freshness="realtime", window="1h")
    def live(e: buys) -> int:
        return e.count()


@feature_group(name="by_kind", entity="kind", owner="tests", retention="3650d")
class ByKind:
    """The entity is a column of the table."""

    @feature(freshness="5m", window="10m")
    def n(e: buys) -> int:
        return e.join(items).count()

    @feature(freshness="5m", window="10m")
    def made(e: copies) -> int | None:
        return e.join(items).n.sum()
