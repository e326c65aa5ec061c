"""The Python functions of the join job, as Flink knows them."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.table import DataTypes
from pyflink.table.udf import udtf

from jobs.flink.join_rows import Labelled, check_record, label_decision


def _check(kind: str, raw: str | None) -> Iterator[tuple[str | None]]:
    yield (check_record(kind, raw),)


def _label(
    payload: str, clicks: str, auction: str | None, activation: int | None, catalog: str, rules: str
) -> Iterator[Labelled]:
    yield label_decision(payload, clicks, auction, activation, catalog, rules)


check = udtf(_check, result_types=[DataTypes.STRING()])
"""One row: null, or why the record is refused."""

label = udtf(_label, result_types=[DataTypes.STRING(), DataTypes.STRING(), DataTypes.BOOLEAN(), DataTypes.INT()])
"""One row for each decision; see `label_decision`."""
