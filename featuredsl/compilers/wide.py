"""The query that feeds the wide features of a group: rows of its sources with the columns that states are made of."""

from __future__ import annotations

from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.units import has_key, key_columns, null_of
from featuredsl.plan import GroupPlan
from featuredsl.wide.program import WideProgram

SOURCE = "fdsl_source"


def wide_rows(plan: GroupPlan, program: WideProgram, dialect: Dialect, *, labels: str, ordered: bool = True) -> str:
    """A SELECT of the entity columns, the source's number, `ts_us` and the program's columns `fdsl_c<i>`.

    Only rows of entities in the view `labels` that some feature takes; `ordered` by entity and time.
    """
    parts = [_of_source(plan, program, dialect, number, labels) for number in range(len(program.sources))]
    rows = "\nUNION ALL\n".join(parts)
    if not ordered:
        return rows
    return f"SELECT * FROM (\n{rows}) AS fdsl_rows\nORDER BY {', '.join([*key_columns(plan, dialect), 'ts_us'])}"


def wide_note(plan: GroupPlan, program: WideProgram) -> str:
    """A comment line that says what the rows are for."""
    features = (f"{feature.name} = {', '.join(map(str, feature.aggregate.wide))}" for feature in program.features)
    return f"-- {plan.name}@{plan.version}: rows of which featuredsl computes {'; '.join(features)}"


def _of_source(plan: GroupPlan, program: WideProgram, dialect: Dialect, number: int, labels: str) -> str:
    values = [null_of(dtype, dialect) for dtype in program.types]
    for i, node in enumerate(program.columns[number]):
        values[program.offset(number) + i] = render(node, dialect)
    keys = ", ".join(key_columns(plan, dialect))
    columns = [keys, f"{number} AS {SOURCE}", "ts_us", *(f"{text} AS fdsl_c{i}" for i, text in enumerate(values))]
    taken = " OR ".join(f"({render(node, dialect)})" for node in program.conditions(number))
    asked = f"({keys}) IN (SELECT {keys} FROM {dialect.ident(labels)})"
    return (
        f"SELECT {', '.join(columns)}\n  FROM {dialect.ident(program.sources[number])}\n"
        f"  WHERE {has_key(plan, dialect)} AND ({taken}) AND {asked}"
    )
