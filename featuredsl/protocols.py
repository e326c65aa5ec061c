"""What Python itself would do to a value that is only traced (`len(e.v)`, `e.v[0]`, `math.sqrt(e.x)`), and what to
write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

from featuredsl.errors import DefinitionError

C = TypeVar("C", bound=type)

_NUMBER = "float(), int() and the functions of math take no column: use its methods, .to_float(), .sqrt(), .ln(), …"
COLUMN: Mapping[str, str] = {
    "__len__": "len() takes no column: use .length()",
    "__getitem__": "a column has no [ ]: use .at(0) for an element of an array, .substring(0, 2) for a part of a text",
    "__iter__": "a column cannot be gone through: a feature is computed over events, for example e.x.sum()",
    "__contains__": "a column has no 'in': use .contains(…)",
    "__float__": _NUMBER,
    "__int__": _NUMBER,
    "__index__": _NUMBER,
    "__round__": "round() takes no column: use .round(), which takes halves up",
    "__str__": "str() takes no column, nor does print(): use .to_str()",
    "__format__": "a column cannot be put into a text: use .to_str() and .concat(…)",
    "__call__": "a column cannot be called: leave the brackets out",
    "__hash__": "a column cannot be a key or in a set: use .is_in(…), if_else(…) or when(…)",
}

_AGGREGATE = (
    "an aggregate can only be divided by an aggregate (a / b); compute with features in an @on_demand function of them"
)
_LOOKUP = "the latest value can only be returned; compute with it in an @on_demand function, inputs=[its name]"
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or")
_DUNDERS = (
    *(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r")),
    *("__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__abs__", "__invert__", "__bool__", "__len__", "__iter__"),
    *("__getitem__", "__contains__", "__float__", "__int__", "__index__", "__round__", "__format__", "__call__"),
    *("__str__", "__getattr__"),
)
AGGREGATE: Mapping[str, str] = dict.fromkeys(_DUNDERS, _AGGREGATE)
LOOKUP: Mapping[str, str] = dict.fromkeys(_DUNDERS, _LOOKUP)
STREAM: Mapping[str, str] = {
    "__len__": "len() takes no events: use .count()",
    "__iter__": "events cannot be gone through: a feature is computed over them, for example e.x.sum() or e.count()",
    "__contains__": "events have no 'in': use .filter(…), for example e.filter(e.x == 1).count()",
}


def refusing(texts: Mapping[str, str]) -> Callable[[C], C]:
    """A class decorator: the protocols that the class does not have itself raise DefinitionError with their text."""

    def decorate(cls: C) -> C:
        for name, text in texts.items():
            if cls.__dict__.get(name) is None:
                setattr(cls, name, _refusal(name, text))
        return cls

    return decorate


def _refusal(name: str, text: str) -> Callable[..., NoReturn]:
    def refuse(_: object, asked: object = "", *_more: object) -> NoReturn:
        if name == "__getattr__" and str(asked).startswith("__"):  # Python's own question: is it there?
            raise AttributeError(asked)
        raise DefinitionError(text)

    refuse.__name__ = name
    return refuse
