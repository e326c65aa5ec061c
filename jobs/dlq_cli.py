"""`featuredsl dlq list | replay`: what was refused, why, and sending it again."""

from __future__ import annotations

import heapq
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from featuredsl.errors import CheckFailed, InputError
from featuredsl.online.progress import NULL_ENTITY
from featuredsl.settings import Settings
from featuredsl.times import asked_time, format_time, parse_duration
from jobs.dead_letters import (
    Letters,
    Replayer,
    ReplayPlan,
    letter_topics,
    letters_of_file,
    letters_of_topics,
    plan_replay,
    selected,
)
from jobs.kafka_offsets import Offsets, end_offsets
from schemas.dead_letters import DeadLetter, printable

SHOWN_REFUSALS = 20
COLUMNS = ("time", "topic", "partition", "offset", "line", "event time", "reason", "detail", "replayable", "payload")

_reasons = click.option("--reason", "reasons", multiple=True, help="Only this reason; may be repeated.")
_since = click.option("--since", help="Only letters written since this time (ISO 8601 or ms) or within this span (2h).")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


@dataclass(slots=True)
class Listing:
    """Counts of all letters that match, and the newest `limit` of them."""

    limit: int
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    repeats: int = 0
    unreadable: int = 0
    _seen: set[str] = field(default_factory=set)
    _newest: list[tuple[int, int, DeadLetter]] = field(default_factory=list)

    def take(self, letters: Letters, reasons: tuple[str, ...], since_ms: int | None) -> None:
        """Go through all letters. The same record twice (a job that was restarted) counts once."""
        for number, letter in enumerate(letters):
            if letter is None:
                self.unreadable += 1
            elif letter.matches(reasons, since_ms):
                self._add(number, letter)

    def _add(self, number: int, letter: DeadLetter) -> None:
        if letter.offset is not None and letter.place in self._seen:
            self.repeats += 1
            return
        self._seen.add(letter.place)
        self.counts[letter.topic, letter.reason] += 1
        push = heapq.heappush if len(self._newest) < self.limit else heapq.heappushpop
        if self.limit:
            push(self._newest, (letter.rejected_ms or 0, number, letter))

    @property
    def newest(self) -> list[DeadLetter]:
        """The newest letters, in the order in which they were written."""
        return [letter for _, _, letter in sorted(self._newest, key=lambda entry: entry[:2])]


@click.command("list")
@click.argument("sources", nargs=-1, metavar="[TOPIC…|FILE]")
@_reasons
@_since
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many records to show.")
@_json
def list_letters(
    sources: tuple[str, ...], reasons: tuple[str, ...], since: str | None, limit: int, as_json: bool
) -> None:
    """Show refused records: counts by topic and reason, then the newest of them.

    Without a topic: all dead-letter topics of the prefix. FILE: what `history --dead-letter` wrote.

    Example: featuredsl dlq list clicks --reason bad_time --since 2h
    """
    since_ms = _since_ms(since)
    listing = Listing(limit)
    with Console(stderr=True).status("reading dead letters"):
        listing.take(_letters(sources), reasons, since_ms)
    if as_json:
        click.echo(json.dumps(_as_data(listing), allow_nan=False))
        return
    _show(listing)


def _letters(sources: tuple[str, ...]) -> Letters:
    files = [source for source in sources if Path(source).is_file()]
    if not files:
        settings = Settings.load()
        kafka = settings.require("kafka")
        return letters_of_topics(kafka, letter_topics(kafka, settings.prefix, sources))
    if len(sources) > 1:
        msg = f"{files[0]} is a file: give one file, or topics"
        raise InputError(msg)
    return letters_of_file(Path(files[0]))


def _since_ms(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return time.time_ns() // 1_000_000 - parse_duration(text) // 1_000
    except InputError:
        return asked_time(text, "ms", "--since") // 1_000


def _as_data(listing: Listing) -> dict[str, Any]:
    return {
        "counts": [
            {"topic": topic, "reason": reason, "count": count}
            for (topic, reason), count in sorted(listing.counts.items())
        ],
        "repeats": listing.repeats,
        "unreadable": listing.unreadable,
        "records": [_record(letter) for letter in listing.newest],
    }


def _record(letter: DeadLetter) -> dict[str, Any]:
    return {
        "time": None if letter.rejected_ms is None else format_time(letter.rejected_ms * 1000),
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "line": letter.line,
        "event_time_ms": letter.ts_ms,
        "reason": letter.reason,
        "detail": letter.detail,
        "replayable": letter.refusal is None,
        "payload": printable(letter.payload),
    }


def _show(listing: Listing) -> None:
    if not listing.counts:
        click.echo("no dead letters")
    else:
        counts = [(topic, reason, str(n)) for (topic, reason), n in sorted(listing.counts.items())]
        _table(("topic", "reason", "count"), counts)
        rows = [[str(value) if value is not None else "" for value in _record(one).values()] for one in listing.newest]
        used = [
            i for i in range(len(COLUMNS)) if any(row[i] for row in rows)
        ]  # a file has no offsets, a topic no lines
        if rows:
            click.echo()
            _table([COLUMNS[i] for i in used], [[row[i] for i in used] for row in rows])
    for number, what in (
        (listing.repeats, "letters of the same record again"),
        (listing.unreadable, "no dead letters"),
    ):
        if number:
            click.echo(f"warning: {number} records are {what}", err=True)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 240, highlight=False, markup=False).print(table)


@click.command("replay")
@click.argument("topics", nargs=-1, metavar="[TOPIC…]")
@_reasons
@_since
@click.option(
    "--offset", "offsets", multiple=True, metavar="PARTITION:OFFSET", help="Only this record; may be repeated."
)
@click.option("--again", is_flag=True, help="Send records that were replayed before, too.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent.")
@click.option("--confirm", type=click.IntRange(min=0), metavar="N", help="Send, if it is exactly N records.")
@_json
def replay(
    topics: tuple[str, ...],
    reasons: tuple[str, ...],
    since: str | None,
    offsets: tuple[str, ...],
    again: bool,
    dry_run: bool,
    confirm: int | None,
    as_json: bool,
) -> None:
    """Send the original bytes of refused records to their topics again, each once.

    Those without an entity are left out unless `--reason null_entity` asks for them: the same bytes would be refused
    again, and may have counted in groups with another entity. Exit code 1 when some of the records asked for cannot be
    sent.

    Example: featuredsl dlq replay clicks --reason future_time --confirm 12
    """
    settings = Settings.load()
    kafka = settings.require("kafka")
    names = letter_topics(kafka, settings.prefix, topics)
    until: dict[str, Offsets] = {name: end_offsets(kafka, [name]) for name in names}
    wanted, since_ms = frozenset(_place(text) for text in offsets), _since_ms(since)

    def letters() -> Letters:
        for letter in letters_of_topics(kafka, names, until):
            if letter is None or not letter.matches(reasons, since_ms):
                continue
            named = (letter.partition, letter.offset) in wanted
            if named or (not wanted and (reasons or letter.reason != NULL_ENTITY)):
                yield letter

    replayer = Replayer(kafka)
    with Console(stderr=True).status("reading dead letters"):
        plans = plan_replay(letters(), replayer.replayed, again)
    total = sum(len(plan.send) for plan in plans.values())
    if total and not dry_run:
        _check_confirmed(total, plans, confirm)
        _send(replayer, plans, letters, total)
    _report(plans, total, dry_run, as_json, until)


def _place(text: str) -> tuple[int, int]:
    partition, _, offset = text.partition(":")
    try:
        return int(partition), int(offset)
    except ValueError:
        msg = f"--offset {text!r}: write it as PARTITION:OFFSET, for example 0:17"
        raise InputError(msg) from None


def _check_confirmed(total: int, plans: dict[str, ReplayPlan], confirm: int | None) -> None:
    what = ", ".join(f"{len(plan.send)} to {plan.topic}" for plan in plans.values() if plan.send)
    if confirm is None and sys.stdin.isatty():
        confirm = click.prompt(
            f"{total} records would be sent: {what}. Type the number to send them", type=int, err=True
        )
    if confirm is None:
        msg = f"{total} records would be sent: {what}; to send them, add --confirm {total}"
        raise InputError(msg)
    if confirm != total:
        msg = f"{total} records would be sent, not {confirm}: {what}; nothing was sent"
        raise InputError(msg)


def _send(replayer: Replayer, plans: dict[str, ReplayPlan], letters: Any, total: int) -> None:
    sent = 0
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("replaying", total=total)

        def report(count: int) -> None:
            nonlocal sent
            sent += count
            progress.advance(bar, count)

        try:
            for plan in plans.values():
                if plan.send:
                    replayer.send(plan.topic, selected(letters(), plan), report)
        except KeyboardInterrupt:
            click.echo(f"{sent} of {total} records are sent for certain; run the same command to go on", err=True)
            raise


def _report(plans: dict[str, ReplayPlan], total: int, dry_run: bool, as_json: bool, until: dict[str, Offsets]) -> None:
    refused = [(place, why) for plan in plans.values() for place, why in sorted(plan.refused.items())]
    already = sum(len(plan.already) for plan in plans.values())
    if as_json:
        entries = [{"place": place, "why": why} for place, why in refused]
        by_topic = {plan.topic: len(plan.send) for plan in plans.values()}
        data = {"sent": 0 if dry_run else total, "dry_run": dry_run, "to": by_topic, "already": already}
        click.echo(json.dumps({**data, "refused": entries}))
    else:
        verb = "would be sent" if dry_run else "sent"
        for plan in plans.values():
            click.echo(f"{plan.topic}: {len(plan.send)} {verb}, {len(plan.already)} replayed before")
        if not plans:
            click.echo(f"no dead letters match in {', '.join(until) or 'no topic'}")
    for place, why in refused[:SHOWN_REFUSALS]:
        click.echo(f"warning: {place} cannot be replayed: {why}", err=True)
    if already:
        click.echo(f"warning: {already} records were replayed before; --again sends them once more", err=True)
    if refused:
        msg = f"{len(refused)} of the records cannot be replayed"
        raise CheckFailed(msg)
