"""`dataclass`, `field` and `replace` as in the standard library, for the modules that every definition imports.

The standard library writes and compiles the text of six methods for each class, and imports `inspect`: half of
the time that `import featuredsl` took. Here equality, hashes and the rest are closures over the slots, and
`__init__` is compiled at its first call. Type checkers see the standard library's own; `dataclasses.fields`,
`replace` and `asdict` work. What is not needed is refused: classes have slots, and no order.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_NOTHING = object()
_FIELDS = "__record_fields__"


class _Field:
    """One field; `factory` makes its default anew for each object."""

    __slots__ = ("compare", "default", "factory", "init", "repr")

    def __init__(self, default: object, factory: object, init: bool, repr: bool, compare: bool) -> None:
        self.default, self.factory = default, factory
        self.init, self.repr, self.compare = init, repr, compare


def _field(
    *,
    default: object = _NOTHING,
    default_factory: object = _NOTHING,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    """See `dataclasses.field`."""
    return _Field(default, default_factory, init, repr, compare)


def _dataclass(
    *, slots: bool, frozen: bool = False, eq: bool = True, repr: bool = True
) -> Callable[[type[Any]], type[Any]]:
    """See `dataclasses.dataclass`."""
    if not slots:
        raise TypeError("records have slots")

    def decorate(cls: type[Any]) -> type[Any]:
        return _made(cls, frozen, eq, repr)

    return decorate


def _replace(record: Any, /, **changes: Any) -> Any:
    """See `dataclasses.replace`."""
    kept = {name: getattr(record, name) for name, one in getattr(record, _FIELDS).items() if one.init}
    return type(record)(**{**kept, **changes})


def _made(cls: type[Any], frozen: bool, eq: bool, repr: bool) -> type[Any]:
    inherited = [base for base in cls.__mro__[1:] if _FIELDS in vars(base)]
    fields: dict[str, _Field] = {name: one for base in reversed(inherited) for name, one in vars(base)[_FIELDS].items()}
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    annotations = body.get("__annotations__", {})
    own = [name for name, kind in annotations.items() if not str(kind).startswith("ClassVar")]
    for name in own:
        given = body.pop(name, _NOTHING)
        fields[name] = given if isinstance(given, _Field) else _Field(given, _NOTHING, True, True, True)
    taken = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    methods = _methods(fields, frozen, eq, repr)
    kept = {name: value for name, value in methods.items() if name not in body}
    if "__hash__" in methods and body.get("__hash__", _NOTHING) is None:  # what Python sets beside an __eq__
        kept["__hash__"] = methods["__hash__"]
    extra = {
        "__slots__": tuple(name for name in own if name not in taken),
        "__qualname__": cls.__qualname__,
        "__match_args__": tuple(name for name, one in fields.items() if one.init),
        "__dataclass_fields__": _StandardFields(),
        _FIELDS: fields,
    }
    kind: Any = type(cls)
    made: type[Any] = kind(cls.__name__, cls.__bases__, body | kept | extra)
    if "__init__" not in body:
        made.__init__ = _first_init(made, fields)
    return made


def _methods(fields: Mapping[str, _Field], frozen: bool, eq: bool, repr: bool) -> dict[str, Any]:
    compared = _getter([name for name, one in fields.items() if one.compare])
    every = _getter(list(fields))
    shown = [name for name, one in fields.items() if one.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __eq__(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(compared(self))

    def __getstate__(self: Any) -> tuple[Any, ...]:
        return every(self)

    def __setstate__(self: Any, state: tuple[Any, ...]) -> None:
        for name, value in zip(fields, state, strict=True):
            object.__setattr__(self, name, value)

    made: dict[str, Any] = {"__getstate__": __getstate__, "__setstate__": __setstate__}
    if repr:
        made["__repr__"] = __repr__
    if eq:
        made["__eq__"] = __eq__
        made["__hash__"] = __hash__ if frozen else None
    return made | ({"__setattr__": _no_assignment, "__delattr__": _no_deletion} if frozen else {})


def _no_assignment(record: object, name: str, value: object) -> None:
    raise importlib.import_module("dataclasses").FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(record: object, name: str) -> None:
    raise importlib.import_module("dataclasses").FrozenInstanceError(f"cannot delete field {name!r}")


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of the names as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _first_init(cls: type[Any], fields: Mapping[str, _Field]) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        init = _compiled(cls, fields)
        cls.__init__ = init
        init(self, *args, **kwargs)

    return __init__


def _compiled(cls: type[Any], fields: Mapping[str, _Field]) -> Callable[..., None]:
    names: dict[str, Any] = {"_nothing": _NOTHING}
    parameters, lines = ["self"], []
    for name, one in fields.items():
        names[f"_set_{name}"] = getattr(cls, name).__set__
        made = f"_make_{name}()"
        if one.factory is not _NOTHING:
            names[f"_make_{name}"] = one.factory
            value = f"{made} if {name} is _nothing else {name}" if one.init else made
            default = " = _nothing"
        else:
            names[f"_default_{name}"] = one.default
            value = name if one.init else f"_default_{name}"
            default = "" if one.default is _NOTHING else f" = _default_{name}"
        if one.init:
            parameters.append(f"{name}{default}")
        if one.init or one.factory is not _NOTHING or one.default is not _NOTHING:
            lines.append(f" _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"])
    exec(text, names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    return init


class _StandardFields:
    """`__dataclass_fields__` of a class, made when something asks."""

    def __get__(self, record: object, cls: type[Any]) -> dict[str, Any]:
        standard = importlib.import_module("dataclasses")
        made = {}
        for name, one in getattr(cls, _FIELDS).items():
            given = {"default": one.default, "default_factory": one.factory}
            options = {key: value for key, value in given.items() if value is not _NOTHING}
            found = standard.field(**options, init=one.init, repr=one.repr, compare=one.compare)
            found.name, found.type = name, cls.__annotations__.get(name)
            found._field_type = standard._FIELD
            made[name] = found
        return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    dataclass, field, replace = _dataclass, _field, _replace
