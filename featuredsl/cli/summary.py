"""One-line help of a command from its source text, so that a list of commands imports none of them."""

from __future__ import annotations

import ast
import importlib.util
from importlib import metadata
from pathlib import Path

import click

LIMIT = 90


def summary(entry: metadata.EntryPoint) -> str | None:
    """`short_help=` of the entry point's function, else the first sentence of its docstring; None where the
    source does not tell."""
    try:
        spec = importlib.util.find_spec(entry.module)
    except ImportError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    for node in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
            told = click.Command(None, help=ast.get_docstring(node), short_help=_short_help(node))
            return told.get_short_help_str(LIMIT) or None
    return None


def _short_help(function: ast.FunctionDef) -> str | None:
    for decorator in function.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "short_help" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return None
