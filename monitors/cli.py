"""Commands on files: `featuredsl drift compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from featuredsl.errors import CheckFailed
from monitors.compare import INSUFFICIENT, NO_DATA, Comparison, compare_values
from monitors.files import read_column

FILE = click.Path(path_type=Path)


@click.command(short_help="Compare a column of two files.")
@click.option("--baseline", type=FILE, required=True, help="Rows to compare with (.jsonl, .csv, .parquet).")
@click.option("--current", type=FILE, required=True, help="Rows to judge.")
@click.option("--column", required=True, help="Name of the column; dots reach into JSON objects.")
@click.option("--categorical", is_flag=True, help="Compare values as categories, not as numbers.")
@click.option("--require-data", is_flag=True, help="Exit 1 when there are too few rows to tell.")
@click.option("--json", "as_json", is_flag=True, help="Print strict JSON on stdout.")
def compare(baseline: Path, current: Path, column: str, categorical: bool, require_data: bool, as_json: bool) -> None:
    """Compare one column of two files: PSI, KS, Wasserstein-1, chi-square, and the bins.

    Exit code 0: no drift proven; 1: drift; 2: a file, column or value is wrong. Too few rows to tell (status no_data
    or insufficient) prove nothing: a warning on stderr, and exit code 1 with --require-data.

    Example: featuredsl drift compare --baseline monday.jsonl --current tuesday.jsonl --column price --json
    """
    before = read_column(baseline, column, as_text=categorical)
    now = read_column(current, column, as_text=categorical)
    found = compare_values(before, now, categorical=categorical or _all_booleans(before + now))
    if as_json:
        click.echo(json.dumps(found.as_dict(), allow_nan=False))
    else:
        click.echo("\n".join(_lines(found.as_dict())))
    if found.drifted():
        psi = "none" if found.psi is None else f"{found.psi.value:.4f}"
        msg = f"drift in column {column!r} (status {found.status}, PSI {psi})"
        raise CheckFailed(msg)
    _tell_thin(found, column, require_data)


def _tell_thin(found: Comparison, column: str, require_data: bool) -> None:
    """Say that there were too few rows to compare, so that it does not pass for a match."""
    if found.status not in (NO_DATA, INSUFFICIENT):
        return
    rows = f"{found.baseline.present} values in the baseline, {found.current.present} in the current file"
    msg = f"column {column!r} could not be judged: {found.status} ({rows})"
    if require_data:
        raise CheckFailed(msg)
    click.echo(f"warning: {msg}", err=True)


def _all_booleans(values: list[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, bool) for value in present)


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"status       {found['status']}", f"rows         {found['n_baseline']} / {found['n_current']}"]
    for name in ("psi", "ks", "wasserstein", "chi2"):
        parts = [f"{key} {value:.6g}" for key, value in found[name].items() if value is not None]
        lines.append(f"{name:<12} {', '.join(parts) or 'none'}")
    lines += [_bin_line(row) for row in found["bins"]]
    return lines


def _bin_line(row: dict[str, Any]) -> str:
    name = row["label"] or f"({_end(row['from'], '-inf')}, {_end(row['to'], 'inf')}]"
    return f"  {name:<32} {row['baseline']:>10} {row['current']:>10}"


def _end(value: Any, default: str) -> str:
    return default if value is None else f"{value:.6g}"
