"""Entity keys: the parts of a key as one text, and back.

A part is a string, an integer or a boolean. `% | { }` are percent-escaped, integers are decimal, booleans
are `true`/`false`, and parts are joined by `|`, so the text never contains a brace and is safe as a hash tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.errors import InputError

KeyPart = str | int | bool

_ESCAPES = str.maketrans({"%": "%25", "|": "%7C", "{": "%7B", "}": "%7D"})
_UNESCAPES = {"%25": "%", "%7C": "|", "%7B": "{", "%7D": "}"}
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


def escape_part(part: KeyPart) -> str:
    """One part as it stands inside a key. Raises InputError for a part that cannot be a key."""
    if type(part) is str and part.isalnum():
        return part
    if isinstance(part, bool):
        return "true" if part else "false"
    if isinstance(part, int):
        if not _INT64_MIN <= part <= _INT64_MAX:
            message = f"key part {part} does not fit into a 64-bit integer"
            raise InputError(message)
        return str(part)
    if isinstance(part, str):
        if not part.isascii():
            _require_utf8(part)
        return part.translate(_ESCAPES)
    message = f"key part {part!r} is {type(part).__name__}; a part is a string, an integer or a boolean"
    raise InputError(message)


def join_key(parts: Sequence[KeyPart]) -> str:
    """The parts, in entity order, as one text: `join_key(("a|b", 7)) == "a%7Cb|7"`."""
    if not parts:
        message = "an entity key needs at least one part"
        raise InputError(message)
    return "|".join([escape_part(part) for part in parts])


def split_key(text: str, dtypes: Sequence[str]) -> tuple[KeyPart, ...]:
    """Inverse of `join_key` for entity columns of the given dtypes (`str`, `int` or `bool`)."""
    pieces = text.split("|")
    if len(pieces) != len(dtypes):
        message = (
            f"key {text!r} has {len(pieces)} part(s), the entity has {len(dtypes)}; "
            "parts are joined by '|', and '|' inside a part is written %7C"
        )
        raise InputError(message)
    return tuple(_parse_part(piece, dtype) for piece, dtype in zip(pieces, dtypes, strict=True))


def _require_utf8(part: str) -> None:
    try:
        part.encode()
    except UnicodeEncodeError as error:
        message = f"key part {part!r} is not valid Unicode: {error.reason}"
        raise InputError(message) from error


def _parse_part(piece: str, dtype: str) -> KeyPart:
    if dtype == "int":
        return _parse_int(piece)
    if dtype == "bool":
        if piece not in ("true", "false"):
            message = f"key part {piece!r} is not a boolean; write true or false"
            raise InputError(message)
        return piece == "true"
    return _unescape(piece)


def _parse_int(piece: str) -> int:
    digits = piece.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        number = int(piece)
        if _INT64_MIN <= number <= _INT64_MAX and str(number) == piece:
            return number
    message = f"key part {piece!r} is not a decimal 64-bit integer"
    raise InputError(message)


def _unescape(piece: str) -> str:
    if "{" in piece or "}" in piece:
        message = f"key part {piece!r} holds a bare brace; write %7B and %7D"
        raise InputError(message)
    head, *rest = piece.split("%")
    out = [head]
    for fragment in rest:
        escape = "%" + fragment[:2].upper()
        if escape not in _UNESCAPES:
            message = f"key part {piece!r} holds an unknown escape; known are %25 %7C %7B %7D"
            raise InputError(message)
        out.append(_UNESCAPES[escape] + fragment[2:])
    return "".join(out)
