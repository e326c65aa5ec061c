"""Small tables as text and as HTML; columns that are empty everywhere are left out."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def as_text(title: str, head: Row, rows: Sequence[Row]) -> str:
    """A table with aligned columns."""
    used = _used(head, rows)
    widths = {i: max(len(row[i]) for row in (head, *rows)) for i in used}
    lines = ["  ".join(row[i].ljust(widths[i]) for i in used).rstrip() for row in (head, *rows)]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def as_html(title: str, text: str, head: Row, rows: Sequence[Row]) -> str:
    """A table for notebooks; every text is escaped."""
    used = _used(head, rows)
    top = "".join(f"<th>{_escaped(head[i])}</th>" for i in used)
    body = "".join(f"<tr>{''.join(f'<td>{_escaped(row[i])}</td>' for i in used)}</tr>" for row in rows)
    note = f"<p>{_escaped(text)}</p>" if text else ""
    return f"<p><b>{_escaped(title)}</b></p>{note}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _used(head: Row, rows: Sequence[Row]) -> list[int]:
    return [i for i in range(len(head)) if any(row[i] for row in rows)]


def _escaped(text: str) -> str:
    """Text for HTML; the library's own `html` takes longer to import than all of this package's tables."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
