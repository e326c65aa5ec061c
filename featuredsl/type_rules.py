"""The types of scalar operations: each rule takes the types of the arguments and gives that of the result.

A rule is called with the operation's name for its messages, and raises DefinitionError for arguments that the
operation does not take.
"""

from __future__ import annotations

from featuredsl.dtypes import ELEMENTS, NUMERIC, DType
from featuredsl.errors import DefinitionError

_ELEMENT_HINT = "use at(i) for one element"
_COMPARE_HINT = "arrays are not compared; compare length(), at(i) or contains(x)"
_ARRAYS: dict[DType, DType] = {element: array for array, element in ELEMENTS.items()}


def _require(op: str, kinds: tuple[DType, ...], ok: bool, wanted: str) -> None:
    if not ok:
        mixed = "str" in kinds and not NUMERIC.isdisjoint(kinds)
        hint = "; convert one with to_int(), to_float() or to_str()" if mixed else ""
        raise DefinitionError(f"'{op}' takes {wanted}, not {' and '.join(kinds) or 'nothing'}{hint}")


def _scalars(op: str, kinds: tuple[DType, ...], hint: str) -> None:
    arrays = [kind for kind in kinds if kind in ELEMENTS]
    if arrays:
        raise DefinitionError(f"'{op}' takes no array, here {arrays[0]}: {hint}")


def arithmetic(op: str, kinds: tuple[DType, ...]) -> DType:
    """Numbers to a number; integers stay integers."""
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "int" if set(kinds) == {"int"} else "float"


def real(op: str, kinds: tuple[DType, ...]) -> DType:
    """Numbers to a float."""
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "float"


def integers(op: str, kinds: tuple[DType, ...]) -> DType:
    """Integers to an integer."""
    _require(op, kinds, set(kinds) == {"int"}, "integers")
    return "int"


def comparison(op: str, kinds: tuple[DType, ...]) -> DType:
    """Two or more values of one type, or numbers, to a boolean."""
    one_by_one = op == "in" and kinds[:1] and kinds[0] not in ELEMENTS
    _scalars(op, kinds, "give is_in() the values one by one" if one_by_one else _COMPARE_HINT)
    _require(op, kinds, len(kinds) > 1, "at least one value to compare with")
    _require(op, kinds, len(set(kinds)) == 1 or set(kinds) <= NUMERIC, "two values of one type")
    return "bool"


def order(op: str, kinds: tuple[DType, ...]) -> DType:
    """Values that have an order to a boolean."""
    comparison(op, kinds)
    _require(op, kinds, "bool" not in kinds, "numbers or strings")
    return "bool"


def logic(op: str, kinds: tuple[DType, ...]) -> DType:
    """Booleans to a boolean."""
    _require(op, kinds, set(kinds) == {"bool"}, "booleans")
    return "bool"


def predicate(op: str, kinds: tuple[DType, ...]) -> DType:
    """Anything to a boolean."""
    return "bool"


def float_predicate(op: str, kinds: tuple[DType, ...]) -> DType:
    """A float to a boolean."""
    _require(op, kinds, set(kinds) == {"float"}, "a float")
    return "bool"


def same(op: str, kinds: tuple[DType, ...]) -> DType:
    """Values of one type to that type; mixed numbers to a float."""
    _require(op, kinds, len(set(kinds)) == 1 or (bool(kinds) and set(kinds) <= NUMERIC), "values of one type")
    return kinds[0] if len(set(kinds)) == 1 else "float"


def extreme(op: str, kinds: tuple[DType, ...]) -> DType:
    """Two or more numbers, or strings, to their type."""
    _scalars(op, kinds, "use at(i), min_element() or max_element()")
    _require(op, kinds, len(kinds) > 1 and "bool" not in kinds, "two or more numbers, or two or more strings")
    return same(op, kinds)


def choice(op: str, kinds: tuple[DType, ...]) -> DType:
    """A boolean and values of one type to that type."""
    _require(op, kinds, kinds[0] == "bool", "a boolean first")
    return same(op, kinds[1:])


def number(op: str, kinds: tuple[DType, ...]) -> DType:
    """A number to its type."""
    _require(op, kinds, set(kinds) <= NUMERIC, "a number")
    return "int" if set(kinds) == {"int"} else "float"


def whole(op: str, kinds: tuple[DType, ...]) -> DType:
    """A number to an integer."""
    _require(op, kinds, kinds[0] in NUMERIC, "a number")
    return "int"


def round_of(op: str, kinds: tuple[DType, ...]) -> DType:
    """A number, and digits or none, to a float or an integer."""
    whole(op, kinds)
    _require(op, kinds, kinds[1:] in ((), ("int",)), "a number and a number of digits")
    return "float" if kinds[1:] and kinds[0] == "float" else "int"


def floats(op: str, kinds: tuple[DType, ...]) -> DType:
    """Floats to a float."""
    _require(op, kinds, set(kinds) == {"float"}, "a float")
    return "float"


def to_int(op: str, kinds: tuple[DType, ...]) -> DType:
    """A scalar to an integer."""
    _scalars(op, kinds, _ELEMENT_HINT)
    return "int"


def to_float(op: str, kinds: tuple[DType, ...]) -> DType:
    """A scalar to a float."""
    _scalars(op, kinds, _ELEMENT_HINT)
    return "float"


def to_str(op: str, kinds: tuple[DType, ...]) -> DType:
    """A scalar that engines print alike to a string."""
    _scalars(op, kinds, _ELEMENT_HINT)
    _require(op, kinds, kinds != ("float",), "an integer, a boolean or a string (engines print floats differently)")
    return "str"


def text(op: str, kinds: tuple[DType, ...]) -> DType:
    """Strings to a string."""
    _require(op, kinds, set(kinds) == {"str"}, "strings")
    return "str"


def text_test(op: str, kinds: tuple[DType, ...]) -> DType:
    """Strings to a boolean."""
    text(op, kinds)
    return "bool"


def length(op: str, kinds: tuple[DType, ...]) -> DType:
    """A string to an integer."""
    text(op, kinds)
    return "int"


def substring(op: str, kinds: tuple[DType, ...]) -> DType:
    """A string, a start and a length to a string."""
    _require(op, kinds, kinds == ("str", "int", "int"), "a string, a start and a length")
    return "str"


def array_length(op: str, kinds: tuple[DType, ...]) -> DType:
    """An array to an integer."""
    element(op, kinds)
    return "int"


def at(op: str, kinds: tuple[DType, ...]) -> DType:
    """An array and an index to an element."""
    _require(op, kinds, kinds[0] in ELEMENTS and kinds[1:] == ("int",), "an array and an integer")
    return ELEMENTS[kinds[0]]


def array_contains(op: str, kinds: tuple[DType, ...]) -> DType:
    """An array and a value to a boolean."""
    inner = ELEMENTS.get(kinds[0])
    same = len(kinds) == 2 and (kinds[1] == inner or (kinds[1] == "int" and inner == "float"))
    _require(op, kinds, same, "an array and a value of its element type")
    return "bool"


def element(op: str, kinds: tuple[DType, ...]) -> DType:
    """An array to an element."""
    _require(op, kinds, len(kinds) == 1 and kinds[0] in ELEMENTS, "an array")
    return ELEMENTS[kinds[0]]


def number_element(op: str, kinds: tuple[DType, ...]) -> DType:
    """An array of numbers to an element."""
    found = element(op, kinds)
    # Flink orders the strings of an array by UTF-16 units, the others by UTF-8 bytes
    _require(op, kinds, found in NUMERIC, "an array of numbers")
    return found


def list_of(op: str, kinds: tuple[DType, ...]) -> DType:
    """Values of one type to an array."""
    _require(op, kinds, len(set(kinds)) == 1 and kinds[0] in _ARRAYS, "numbers of one type, or strings")
    return _ARRAYS[kinds[0]]
