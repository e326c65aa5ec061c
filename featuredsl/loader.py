"""Feature groups from a definition file."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import linecache
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from featuredsl.errors import DefinitionError, InputError, unknown
from featuredsl.plan import GroupPlan
from featuredsl.where import Location, author_line, keeping, located_error, short_path, together

DATA_FILES = (".csv", ".jsonl", ".json", ".ndjson", ".parquet")


def load_definitions(path: Path) -> dict[str, GroupPlan]:
    """The groups of a definition file by name, in order.

    Raises InputError when there is no such file, DefinitionError with every wrong group when it does not load.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a definition file in it")
    if not path.is_file():
        raise InputError(f"no definition file {path}{_near(path)}")
    if path.suffix in DATA_FILES:
        raise InputError(f"{path} is a data file, no definition file{_near(path)}")
    linecache.checkcache(str(path))
    return _groups(path.read_bytes(), str(path), str(path.resolve()))


def load_text(text: str, file: str) -> dict[str, GroupPlan]:
    """The groups of a definition file whose text is at hand; `file` is what its errors call it."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return _groups(text.encode(), file, file)


def _module_name(file: str, source: bytes) -> str:
    return f"featuredsl_definitions_{hashlib.sha256(file.encode() + source).hexdigest()[:12]}"


def _groups(source: bytes, file: str, identity: str) -> dict[str, GroupPlan]:
    """Runs the source itself: compiled files of the same second and size would hide a change."""
    module = ModuleType(_module_name(identity, source))
    module.__file__ = file
    sys.modules[module.__name__] = module
    with keeping() as errors:
        try:
            exec(compile(source, file, "exec", dont_inherit=True), vars(module))
        except SystemExit as error:
            place = author_line(error.__traceback__) or Location(short_path(file), 1)
            raise located_error(f"{place}: the file ends the interpreter; a definition file only defines") from None
        except Exception as error:
            if not errors:
                raise _not_loaded(module, file, error) from None
    if errors:
        raise together(errors)
    return _found(vars(module), file)


def _found(names: Mapping[str, object], file: str) -> dict[str, GroupPlan]:
    groups: dict[str, GroupPlan] = {}
    for value in names.values():
        plan = getattr(value, "plan", None)
        if isinstance(value, type) and isinstance(plan, GroupPlan):
            if plan.name in groups and groups[plan.name] is not plan:
                first = groups[plan.name].location
                raise located_error(
                    f"{plan.name} ({plan.location}): group {plan.name!r} is defined twice; the first one is at "
                    f"{first}. Rename one of them"
                )
            groups[plan.name] = plan
    if not groups:
        raise located_error(
            f"{short_path(file)} defines no @feature_group; decorate a class with "
            "@feature_group(name='…', entity='…') and give it at least one @feature"
        )
    return groups


def _not_loaded(module: ModuleType, file: str, error: Exception) -> DefinitionError:
    """What an exception of the file's own code becomes: file:line and what to do."""
    if isinstance(error, DefinitionError) and error.located:
        return error
    place = author_line(error.__traceback__) or Location(short_path(file), 1)
    if isinstance(error, SyntaxError) and error.filename:
        place = Location(short_path(error.filename), error.lineno or 1)
        return located_error(f"{place}: {type(error).__name__}: {error.msg}")
    if isinstance(error, ValueError):
        kind = type(error) if isinstance(error, DefinitionError) else DefinitionError
        return located_error(f"{place}: {error}", kind)
    return located_error(f"{place}: {_advice(module, error) or f'{type(error).__name__}: {error}'}")


def _advice(module: ModuleType, error: Exception) -> str | None:
    """The text of a common slip with the nearest name."""
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        return (
            f"{text}; a definition file is kept and loaded alone: import installed packages only, and keep helpers "
            "in the file"
        )
    if isinstance(error, ImportError) and (found := re.match(r"cannot import name '(\w+)'", text)):
        return unknown("name", found[1], str(error.name), _exported(str(error.name)))
    if isinstance(error, NameError) and error.name:
        near = difflib.get_close_matches(error.name, vars(module), n=1)
        return f"{text}.{f' Did you mean {near[0]!r}?' if near else ' Define or import it'}"
    if isinstance(error, TypeError) and (found := re.match(r"(\w+).*unexpected keyword argument '(\w+)'", text)):
        function = vars(module).get(found[1])
        if callable(function):
            known = tuple(p.name for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_POSITIONAL)
            return unknown("option", found[2], found[1], known)
    return None


def _exported(module: str) -> tuple[str, ...]:
    found = sys.modules.get(module)
    return tuple(getattr(found, "__all__", None) or (n for n in dir(found) if not n.startswith("_")))


def _near(path: Path) -> str:
    found = sorted(p.name for p in path.parent.glob("*.py")) if path.parent.is_dir() else []
    return f"; {path.parent} has: {', '.join(found)}" if found else ""
