"""Feature groups from a definition file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from featuredsl.errors import DefinitionError, InputError
from featuredsl.plan import GroupPlan


def load_definitions(path: Path) -> dict[str, GroupPlan]:
    """The groups of a definition file by name, in order.

    Raises InputError when there is no such file, DefinitionError when it does not load or defines no group.
    """
    module = _import(path)
    groups: dict[str, GroupPlan] = {}
    for value in vars(module).values():
        plan = getattr(value, "plan", None)
        if isinstance(value, type) and isinstance(plan, GroupPlan):
            if plan.name in groups and groups[plan.name] is not plan:
                raise DefinitionError(f"{path}: group {plan.name!r} is defined twice")
            groups[plan.name] = plan
    if not groups:
        raise DefinitionError(f"{path} defines no @feature_group")
    return groups


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"no definition file {path}")
    digest = hashlib.sha256(str(path.resolve()).encode() + path.read_bytes()).hexdigest()[:12]
    name = f"featuredsl_definitions_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except DefinitionError:
        raise
    except Exception as error:
        raise DefinitionError(f"{path} does not load: {type(error).__name__}: {error}") from error
    return module
