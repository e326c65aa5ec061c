"""What an on-demand function is made of: its source, and that of everything that it uses.

The text is part of the group's version, so a changed constant of a helper's helper is a changed feature. What has
no such text, or would make a value depend on when and where it is computed, is refused.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import NoReturn

from featuredsl.errors import DefinitionError
from featuredsl.purity import allowed, refused_builtin, refused_module, signature
from featuredsl.syntax import Source, Use, global_names, written_globals
from featuredsl.where import Location, located_error, location_of, short_path

_PLAIN = (int, float, str, bool, bytes, complex, type(None))
_NUMBERS = (("decimal", "Decimal"), ("fractions", "Fraction"))
"""Plain too; whoever has such a value has imported the module."""
_FROZEN = {"list": "a tuple", "set": "a frozenset", "dict": "types.MappingProxyType({…})", "bytearray": "bytes"}
_CACHED = type(functools.cache(len))
_MISSING = object()


def closure_code(function: FunctionType) -> str:
    """The text that decides what `function` computes. Raises DefinitionError for what may not be used."""
    if function.__name__ == "<lambda>":
        raise DefinitionError("an on-demand feature must be a named function, not a lambda; write it with def")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise DefinitionError("must return its value: generators and async functions cannot")
    closure = _Closure(function)
    closure.function(function, function.__name__)
    return "\n".join(f"{name}: {text}" for name, text in sorted(closure.parts.items()))


class _Closure:
    """Collects name -> text of everything reached from one function."""

    def __init__(self, feature: FunctionType) -> None:
        self.parts: dict[str, str] = {}
        self._feature = feature
        self._seen: dict[int, str] = {}

    def function(self, function: FunctionType, name: str) -> None:
        """Add a function: its text, its defaults, and all that it uses."""
        if id(function) in self._seen:
            self.parts.setdefault(name, f"as {self._seen[id(function)]}")
            return
        self._seen[id(function)] = name
        source = _source(function)
        self.parts[name] = source.text
        here = _Here(self, function, source)
        here.refuse_writes()
        for parameter, value in _defaults(function):
            here.value(Use((parameter,), source.line), f"{name}({parameter}=)", parameter, value)
        for use in source.uses:
            here.use(use, name)

    def refuse(self, place: Location, function: FunctionType, text: str) -> NoReturn:
        """Raise the error of a place in a function, with the way from the feature to it."""
        feature = self._feature
        where = str(place)
        if function is not feature:
            where = f"{location_of(feature)}, through {function.__name__} at {place}"
        raise located_error(f"{feature.__name__} ({where}): {text}")


class _Here:
    """One function's view: what its names stand for."""

    def __init__(self, closure: _Closure, function: FunctionType, source: Source) -> None:
        self._closure = closure
        self._function = function
        self._source = source
        self._globals = global_names(function.__code__)
        self._captured = dict(_captured(function))
        self._imports = {name: self._imported(use) for name, use in source.imports.items()}

    def refuse(self, use: Use, text: str) -> NoReturn:
        file = short_path(self._function.__code__.co_filename)
        self._closure.refuse(Location(file, use.line), self._function, text)

    def refuse_writes(self) -> None:
        for name in sorted(written_globals(self._function.__code__)):
            self.refuse(
                Use((name,), self._source.line),
                f"sets the global {name!r}; a function must depend on its arguments only",
            )

    def use(self, use: Use, owner: str) -> None:
        root, *attributes = use.chain
        value = self._value_of(root)
        if value is _MISSING:
            self._builtin(use, root)
            return
        if use.written and isinstance(value, ModuleType):
            self.refuse(use, f"sets {'.'.join(use.chain)}; a function must depend on its arguments only")
        path = [root]
        while isinstance(value, ModuleType) and not self._module(use, value, owner, path, attributes):
            name = attributes.pop(0)
            found = getattr(value, name, _MISSING)
            if found is _MISSING:
                self.refuse(use, f"module {value.__name__!r} has no {name!r}")
            path.append(name)
            value = found
        if not isinstance(value, ModuleType):
            self.value(use, f"{owner}.{'.'.join(path)}", ".".join(path), value)

    def value(self, use: Use, name: str, shown: str, value: object) -> None:
        """Add the text of a value under `name`, or refuse it as `shown`."""
        if isinstance(value, _CACHED):
            self.value(use, name, shown, value.__wrapped__)
        elif isinstance(value, FunctionType | BuiltinFunctionType | type) or _is_ufunc(value):
            self._callable(use, name, shown, value)
        else:
            self._closure.parts[name] = self._constant(use, shown, value)

    def _value_of(self, name: str) -> object:
        for known in (self._imports, self._captured):
            if name in known:
                return known[name]
        if name in self._globals:
            return self._function.__globals__.get(name, _MISSING)
        return _MISSING

    def _builtin(self, use: Use, name: str) -> None:
        if name not in self._globals:
            return
        if not hasattr(builtins, name):
            self.refuse(use, f"uses {name!r}, which is not defined; define it above the group")
        reason = refused_builtin(name)
        if reason is not None:
            self.refuse(use, f"uses {name}(): {reason}")

    def _module(self, use: Use, module: ModuleType, owner: str, path: list[str], attributes: list[str]) -> bool:
        """True when the chain ends at a module that counts by its name; False to go on inside it."""
        name = module.__name__
        self._refuse_module(use, name)
        follows = isinstance(getattr(module, attributes[0], None), ModuleType) if attributes else False
        if allowed(name) and not follows:
            self._closure.parts[f"{owner}.{'.'.join(path)}"] = signature(module)
            return True
        if not attributes:
            self.refuse(use, f"uses the module {name!r} as a whole; name what it uses, for example {path[-1]}.NAME")
        return False

    def _refuse_module(self, use: Use, name: str) -> None:
        reason = refused_module(name, library=name.split(".")[0] in sys.stdlib_module_names)
        if reason is not None:
            self.refuse(use, f"uses {'.'.join(use.chain)} of the module {name!r}: {reason}")

    def _callable(self, use: Use, name: str, shown: str, value: object) -> None:
        owner = getattr(value, "__self__", None)
        bound = owner is not None and not isinstance(owner, ModuleType) and not isinstance(value, FunctionType | type)
        home = str(getattr(value, "__module__", None) or type(value).__module__)
        if bound:
            home = type(owner).__module__
        if home == "builtins" and not bound:
            self._closure.parts[name] = f"builtin {getattr(value, '__qualname__', shown)}"
            return
        self._refuse_module(use, home)
        if bound:
            self.refuse(use, f"uses {shown!r}, a method of a {type(owner).__name__}, which keeps state")
        if home == "featuredsl" or home.startswith("featuredsl."):
            self.refuse(use, f"uses {shown!r} of featuredsl, which is for the methods of a group, not for values")
        if allowed(home):
            self._closure.parts[name] = f"{signature(sys.modules[home])} {getattr(value, '__qualname__', shown)}"
        elif isinstance(value, FunctionType):
            if value.__name__ == "<lambda>":
                self.refuse(use, f"uses {shown!r}, a lambda; write it with def")
            self._closure.function(value, name)
        else:
            self.refuse(use, f"uses the class {shown!r}; use functions and constants, whose text can be compared")

    def _constant(self, use: Use, shown: str, value: object) -> str:
        kind = type(value)
        if kind in _PLAIN or any(kind is getattr(sys.modules.get(m), name, None) for m, name in _NUMBERS):
            return repr(value)
        if kind is tuple:
            return f"({', '.join(self._constant(use, shown, item) for item in value)})"  # type: ignore[attr-defined]
        if kind is frozenset:
            return f"{{{', '.join(sorted(self._constant(use, shown, item) for item in value))}}}"  # type: ignore[attr-defined]
        if kind is MappingProxyType:
            items = ((self._constant(use, shown, k), self._constant(use, shown, v)) for k, v in value.items())  # type: ignore[attr-defined]
            return f"{{{', '.join(f'{k}: {v}' for k, v in sorted(items))}}}"
        if isinstance(value, re.Pattern):
            return f"re.compile({value.pattern!r}, {value.flags})"
        if kind.__name__ in _FROZEN:
            self.refuse(use, f"uses {shown!r}, a {kind.__name__} that may change; make it {_FROZEN[kind.__name__]}")
        self.refuse(
            use, f"uses {shown!r}, a {kind.__name__}; use a constant (number, text, tuple, frozenset) or a function"
        )

    def _imported(self, use: Use) -> object:
        """The value of an `import` inside the function."""
        module, *names = use.chain
        self._refuse_module(Use((module, *names), use.line), module)
        try:
            found: object = importlib.import_module(module)
        except ImportError as error:
            self.refuse(use, f"imports {module!r}: {error}")
        for name in names:
            found = getattr(found, name, _MISSING)
        if found is _MISSING:
            self.refuse(use, f"module {module!r} has no {names[-1]!r}")
        return found


def _source(function: FunctionType) -> Source:
    try:
        lines, first = inspect.getsourcelines(function.__code__)
    except OSError:
        raise DefinitionError("has no source text; define it in a file or a notebook cell") from None
    return Source.parse("".join(lines), first)


def _captured(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def _defaults(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            yield name, parameter.default


def _is_ufunc(value: object) -> bool:
    return type(value).__module__.split(".")[0] == "numpy" and type(value).__name__ == "ufunc"
