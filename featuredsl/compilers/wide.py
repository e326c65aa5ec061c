"""The query that feeds the wide features of a group: rows of its sources with the columns that states are made of."""

from __future__ import annotations

from featuredsl.compilers.relations import Relations
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.units import has_key, key_columns, null_of
from featuredsl.plan import GroupPlan
from featuredsl.source_checks import ARRIVAL_US, EVENT_US
from featuredsl.wide.program import WideProgram

SOURCE, KNOWN = "fdsl_source", "fdsl_arrival"


def wide_rows(
    plan: GroupPlan,
    program: WideProgram,
    dialect: Dialect,
    *,
    labels: str,
    ordered: bool = True,
    as_known: bool = True,
) -> str:
    """A SELECT of the entity columns, the source's number, `ts_us`, the arrival (null where it does not matter) and
    the program's columns `fdsl_c<i>`.

    Only rows of entities in the view `labels` that some feature takes; `ordered` by entity and time.
    """
    relations = Relations(dialect)
    parts = [
        _of_source(plan, program, relations, number, labels, as_known=as_known)
        for number in range(len(program.sources))
    ]
    rows = "\nUNION ALL\n".join(parts)
    ctes = f"WITH {relations.prefix().removesuffix(f',{chr(10)}')}\n" if relations.ctes else ""
    if not ordered:
        return f"{ctes}{rows}"
    order = ", ".join([*key_columns(plan, dialect), EVENT_US])
    return f"{ctes}SELECT * FROM (\n{rows}) AS fdsl_rows\nORDER BY {order}"


def wide_note(plan: GroupPlan, program: WideProgram) -> str:
    """A comment line that says what the rows are for."""
    features = (f"{feature.name} = {', '.join(map(str, feature.aggregate.wide))}" for feature in program.features)
    return f"-- {plan.name}@{plan.version}: rows of which featuredsl computes {'; '.join(features)}"


def _of_source(
    plan: GroupPlan, program: WideProgram, relations: Relations, number: int, labels: str, *, as_known: bool
) -> str:
    dialect, source = relations.dialect, plan.source(program.sources[number])
    values = [null_of(dtype, dialect) for dtype in program.types]
    for i, node in enumerate(program.columns[number]):
        values[program.offset(number) + i] = render(node, dialect)
    keys = ", ".join(key_columns(plan, dialect))
    arrival = ARRIVAL_US if as_known and source.arrival_time is not None else null_of("int", dialect)
    columns = [keys, f"{number} AS {SOURCE}", EVENT_US, f"{arrival} AS {KNOWN}"]
    columns += [*(f"{text} AS fdsl_c{i}" for i, text in enumerate(values))]
    taken = " OR ".join(f"({render(node, dialect)})" for node in program.conditions(number))
    asked = f"({keys}) IN (SELECT {keys} FROM {dialect.ident(labels)})"
    return (
        f"SELECT {', '.join(columns)}\n  FROM {relations.of(source)}\n"
        f"  WHERE {has_key(plan, dialect)} AND ({taken}) AND {asked}"
    )
