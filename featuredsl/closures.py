"""What an on-demand function is made of: its source and the globals that it uses."""

from __future__ import annotations

import ast as _ast
import inspect
import textwrap
from types import CodeType, FunctionType, ModuleType

from featuredsl.errors import DefinitionError

_PLAIN = (int, float, str, bool, bytes, type(None))


def closure_code(function: FunctionType) -> str:
    """The text that decides what `function` computes: its source, that of the functions it calls and the
    constants that it reads. Lambdas and captured objects that have no such text are refused."""
    if function.__name__ == "<lambda>":
        raise DefinitionError("an on-demand feature must be a named function, not a lambda")
    parts: dict[str, str] = {}
    _collect(function, parts)
    return "\n".join(f"{name}: {text}" for name, text in sorted(parts.items()))


def _collect(function: FunctionType, parts: dict[str, str]) -> None:
    parts[function.__qualname__] = _body(function)
    cells = function.__closure__ or ()
    captured = dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    for name in _names(function.__code__):
        if name in captured:
            value = captured[name]
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        _add(name, value, parts)


def _add(name: str, value: object, parts: dict[str, str]) -> None:
    if isinstance(value, FunctionType):
        if value.__qualname__ not in parts and not value.__module__.startswith("featuredsl"):
            _collect(value, parts)
    elif isinstance(value, ModuleType):
        parts[name] = f"module {value.__name__}"
    elif isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(isinstance(v, _PLAIN) for v in value)):
        parts[name] = repr(value)
    elif not isinstance(value, type) and not callable(value):
        raise DefinitionError(
            f"uses the global {name!r}, a {type(value).__name__}; use a constant (number, string, tuple) or a function"
        )


def _names(code: CodeType) -> list[str]:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    names = [*code.co_names, *code.co_freevars]
    for const in inner:
        names += _names(const)
    return names


def _body(function: FunctionType) -> str:
    """The function without decorators, comments and layout: its code constants and instructions are what
    counts, so the compiled form is taken from the parsed source."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise DefinitionError("has no source text; define it in a file or a notebook cell") from None
    return normalised(source)


def normalised(source: str) -> str:
    """Source text as its syntax tree, without decorators and docstrings."""
    tree = _ast.parse(source)
    for node in _ast.walk(tree):
        if isinstance(node, _ast.FunctionDef | _ast.AsyncFunctionDef):
            node.decorator_list = []
            if _ast.get_docstring(node) is not None and len(node.body) > 1:
                node.body = node.body[1:]
    return _ast.dump(tree)
