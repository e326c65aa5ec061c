"""What each stage of the demo did, what it had to guarantee, and the table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant and whether it held; `detail` holds the numbers."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of the table. None means that a column does not apply."""

    name: str
    rows_in: int | None = None
    rows_out: int | None = None
    rejected: int | None = None
    where: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """True when every invariant held."""
        return all(check.ok for check in self.checks)


@dataclass(slots=True)
class Report:
    """Stages in the order in which they ended."""

    stages: list[Stage] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when every invariant of every stage held."""
        return all(stage.ok for stage in self.stages)

    @property
    def broken(self) -> list[str]:
        """The invariants that did not hold, with their stage."""
        return [
            f"{stage.name}: {check.name} ({check.detail})"
            for stage in self.stages
            for check in stage.checks
            if not check.ok
        ]


def render(report: Report, console: Console, seconds: float, *, ended: bool = True) -> None:
    """Print the table of stages and the invariants below it; of those so far, when the demo could not go on."""
    so_far = "" if ended else ", then stopped by an error"
    table = Table(title=f"featuredsl demo: {len(report.stages)} stages in {seconds:.0f} s{so_far}")
    for column in ("stage", "rows in", "rows out", "rejected", "", "where to look"):
        table.add_column(column, justify="right" if column in ("rows in", "rows out", "rejected") else "left")
    for stage in report.stages:
        mark = "[green]ok[/]" if stage.ok else "[red]FAILED[/]"
        counts = (_number(stage.rows_in), _number(stage.rows_out), _number(stage.rejected))
        table.add_row(stage.name, *counts, mark, stage.where)
    console.print(table)
    console.print(_checks(report.stages))


def _checks(stages: Sequence[Stage]) -> Table:
    table = Table(title="invariants", show_header=False, box=None, pad_edge=False)
    for stage in stages:
        for check in stage.checks:
            table.add_row("[green]ok[/]" if check.ok else "[red]FAILED[/]", stage.name, check.name, check.detail)
    return table


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
