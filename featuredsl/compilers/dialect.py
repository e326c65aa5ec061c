"""What the engines spell differently, and the constants that they spell alike."""

from __future__ import annotations

from dataclasses import dataclass

from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.nodes import Literal
from featuredsl.operations import INT64_MIN

INT_MIN, INT_MAX = "(-9223372036854775807 - 1)", "9223372036854775807"
"""The ends of BIGINT; the lower one has no literal of its own."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the engines: quoting, string escapes, integer division, type names, regular expressions."""

    name: str
    quote: str
    backslash_escapes: bool
    int_division: str
    string_type: str
    array_type: str
    array_literal: str
    regex: str

    def ident(self, name: str) -> str:
        """A quoted identifier."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def text(self, value: str) -> str:
        """A string literal."""
        escaped = value.replace("\\", "\\\\") if self.backslash_escapes else value
        return "'" + escaped.replace("'", "\\'" if self.backslash_escapes else "''") + "'"

    def type_name(self, dtype: DType) -> str:
        """The SQL type of a logical type."""
        if dtype in ELEMENTS:
            return self.array_type.format(self.type_name(ELEMENTS[dtype]))
        return {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "str": self.string_type}[dtype]

    def matches(self, value: str, pattern: str) -> str:
        """True when the whole of a string matches a pattern."""
        return self.regex.format(value, self.text(f"^{pattern}\\z"))

    def literal(self, node: Literal) -> str:
        """A typed constant; doubles in E notation, which no engine reads as a decimal."""
        value = node.value
        if value is None:
            return f"CAST(NULL AS {self.type_name(node.dtype)})"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.text(value)
        if node.dtype == "float":
            return f"CAST({float(value)!r} AS DOUBLE)" if "e" in repr(float(value)) else f"{float(value)!r}e0"
        return INT_MIN if value == INT64_MIN else f"CAST({value} AS BIGINT)"


FLINK = Dialect("flink", "`", False, "/", "STRING", "ARRAY<{}>", "ARRAY[{}]", "REGEXP({0}, {1})")
SPARK = Dialect("spark", "`", True, "div", "STRING", "ARRAY<{}>", "array({})", "({0} RLIKE {1})")
DUCKDB = Dialect("duckdb", '"', False, "//", "VARCHAR", "{}[]", "[{}]", "regexp_matches({0}, {1})")
DIALECTS = {dialect.name: dialect for dialect in (FLINK, SPARK, DUCKDB)}
