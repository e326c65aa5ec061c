"""Every error that crosses a border of featuredsl, with the exit code it ends a command with.

FeatureError
├── DefinitionError      a feature definition is wrong (also a ValueError)
│   └── UnsupportedError the definition is right, but a target cannot run it
├── InputError           a file, record, key or option is wrong (also a ValueError)
├── CheckFailed          a check ran and said no: drift found, parity broken, gate refused
├── CodecError           stored bytes cannot be decoded
├── StateError           stored state has a version that this release does not know
└── DependencyError      a service that is needed is not reachable; retrying may help
"""

from __future__ import annotations

import difflib


class FeatureError(Exception):
    """Base of all errors of featuredsl; ends a command with `exit_code`."""

    exit_code = 3


class DefinitionError(FeatureError, ValueError):
    """A feature definition is wrong. The text names file:line, what exists and what to do.

    `located` is true once the text says where; `lines` are the single texts where several errors came together.
    """

    exit_code = 2
    located: bool = False
    lines: tuple[str, ...] = ()


class UnsupportedError(DefinitionError):
    """A target cannot run a feature; names the target and the feature."""


class InputError(FeatureError, ValueError):
    """A file, a record, a key or an option is wrong."""

    exit_code = 2


class CheckFailed(FeatureError):
    """A check ran to its end and its answer is no."""

    exit_code = 1


class CodecError(FeatureError):
    """Stored bytes do not decode under the layout that the reader expects."""


class StateError(FeatureError):
    """Stored state carries a version that this release does not know."""


class DependencyError(FeatureError):
    """A service that the command needs cannot be reached; retrying may help."""

    exit_code = 4


def unknown(kind: str, name: str, owner: str, known: tuple[str, ...]) -> str:
    """The text for a name that does not exist: what exists, and the nearest."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{kind} {name!r} is not in {owner!r}; it has: {', '.join(known)}.{hint}"
