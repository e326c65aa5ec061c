"""The source of a function as a syntax tree: its text without layout, and the names that it uses."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from types import CodeType

from featuredsl.records import dataclass

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Use:
    """A name with the attributes taken from it, `("cfg", "SCALE")`, and the line of the file."""

    chain: tuple[str, ...]
    line: int
    written: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """`text` decides what the function computes; comments, docstrings and decorators are not in it."""

    text: str
    line: int
    uses: tuple[Use, ...]
    imports: dict[str, Use]

    @classmethod
    def parse(cls, source: str, first_line: int) -> Source:
        """The source of one function, as it stands in its file from `first_line` on, indented or not."""
        indented = source[:1].isspace()
        tree = ast.parse(f"if 1:\n{source}" if indented else source)
        node = tree.body[0].body[0] if indented else tree.body[0]  # type: ignore[attr-defined]
        if isinstance(node, _FUNCTIONS):
            node.decorator_list = []
        shift = first_line - (2 if indented else 1)
        uses = sorted(set(_uses(node, shift)), key=lambda use: (use.line, use.chain))
        imports = dict(_imports(node, shift))
        _drop_docstrings(node)
        return cls(ast.dump(node), getattr(node, "lineno", 1) + shift, tuple(uses), imports)


def _uses(node: ast.AST, shift: int) -> Iterator[Use]:
    if isinstance(node, ast.Attribute | ast.Name):
        names: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            written = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
            yield Use((inner.id, *reversed(names)), node.lineno + shift, written)
            return
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, shift)


def _imports(node: ast.AST, shift: int) -> Iterator[tuple[str, Use]]:
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            for name in item.names:
                bound = name.asname or name.name.split(".")[0]
                yield bound, Use((name.name if name.asname else bound,), item.lineno + shift)
        elif isinstance(item, ast.ImportFrom):
            for name in item.names:
                yield name.asname or name.name, Use((item.module or "", name.name), item.lineno + shift)


def _drop_docstrings(node: ast.AST) -> None:
    for item in ast.walk(node):
        if isinstance(item, _FUNCTIONS) and ast.get_docstring(item) is not None and len(item.body) > 1:
            item.body = item.body[1:]


def global_names(code: CodeType) -> frozenset[str]:
    """Names that a function and those inside it take from their module or the builtins."""
    return frozenset(_names(code, ("LOAD_GLOBAL", "LOAD_NAME")))


def written_globals(code: CodeType) -> frozenset[str]:
    """Names of the module that a function sets or deletes."""
    return frozenset(_names(code, ("STORE_GLOBAL", "DELETE_GLOBAL")))


def _names(code: CodeType, operations: tuple[str, ...]) -> Iterator[str]:
    yield from (str(step.argval) for step in dis.get_instructions(code) if step.opname in operations)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner, operations)
