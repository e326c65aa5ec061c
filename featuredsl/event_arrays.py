"""Cells of array columns in event files, as DuckDB SQL: a typed list, and when the cell is of the wrong type.

An element of another type, a null, NaN or an infinity makes the whole record a `bad_type`: arrays that engines
hold have none of them.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import ELEMENTS, DType


class Cell(NamedTuple):
    """A typed value; when the cell is of the wrong type, and when it is a float that is not finite ("": never)."""

    value: str
    wrong: str = ""
    infinite: str = ""


_JSON_TYPES: dict[DType, str] = {
    "int": "['BIGINT', 'UBIGINT']",
    "float": "['BIGINT', 'UBIGINT', 'DOUBLE']",
    "str": "['VARCHAR']",
}
_PARQUET_TYPES: dict[DType, str] = {
    "int": r"U?(TINY|SMALL|BIG)?INT(EGER)?",
    "float": r"U?(TINY|SMALL|BIG)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(.*\)",
    "str": r"VARCHAR",
}


def json_cell(name: str, dtype: DType) -> Cell:
    """An array in the column `fdsl_doc` of JSON documents."""
    return _of_json("fdsl_doc", "$." + json.dumps(name, ensure_ascii=False), dtype)


def text_cell(name: str, dtype: DType) -> Cell:
    """An array as JSON text in a column."""
    column = DUCKDB.ident(name)
    cell = _of_json(f"TRY_CAST({column} AS JSON)", "$", dtype)
    return cell._replace(wrong=f"({cell.wrong}) OR ({column} IS NOT NULL AND TRY_CAST({column} AS JSON) IS NULL)")


def parquet_cell(name: str, dtype: DType) -> Cell:
    """An array in a list column of a type that `fits_parquet`."""
    column = DUCKDB.ident(name)
    typed = _sound(f"TRY_CAST({column} AS {DUCKDB.type_name(dtype)})", dtype)
    return Cell(typed, f"{column} IS NOT NULL AND ({typed}) IS NULL")


def fits_parquet(kind: str, dtype: DType) -> bool:
    """True when a DuckDB type name is a list of what may stand for the elements."""
    match = re.fullmatch(r"(.*)\[\d*\]", kind)
    return match is not None and re.fullmatch(_PARQUET_TYPES[ELEMENTS[dtype]], match[1]) is not None


def _of_json(doc: str, path: str, dtype: DType) -> Cell:
    item = f"json_extract({doc}, {DUCKDB.text(path)})"
    elements = DUCKDB.text(path + "[*]")
    fits = f"json_type({item}) = 'ARRAY' AND list_has_all({_JSON_TYPES[ELEMENTS[dtype]]}, json_type({doc}, {elements}))"
    cast = f"TRY_CAST(json_extract_string({doc}, {elements}) AS {DUCKDB.type_name(dtype)})"
    typed = f"CASE WHEN {fits} THEN {_sound(cast, dtype)} END"
    return Cell(typed, f"({item} IS NOT NULL AND json_type({item}) <> 'NULL') AND ({typed}) IS NULL")


def _sound(array: str, dtype: DType) -> str:
    """The array, or null where an element is (what could not be cast is one) or is no finite float.

    The lambda is there to name the array, so that it is computed once.
    """
    sound = "len(v) = list_count(v)"
    if dtype == "float[]":
        sound += " AND list_bool_and(list_transform(v, lambda x: isfinite(x))) IS NOT FALSE"
    return f"list_extract(list_transform([{array}], lambda v: CASE WHEN {sound} THEN v END), 1)"
