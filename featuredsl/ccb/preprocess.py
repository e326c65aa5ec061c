"""Features -> tokens: the one place that decides under which name a learner and a scorer know a value.

A token is `(name, value)` with a name that is safe in Vowpal Wabbit text: no white space, `|` or `:`.
Texts become `feature=value` with value 1 (lower case, white space as `_`), numbers `feature` with their
value, booleans `feature=true|false`; null, zero and non-finite values give no token. With a vocabulary, texts
that it does not list become `feature=other`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from featuredsl.ccb.types import Action, DecisionRequest, Features, Scalar, Slot
from featuredsl.errors import InputError

Token: TypeAlias = tuple[str, float]
Vocabulary: TypeAlias = Mapping[str, frozenset[str]]

FORMAT_VERSION = 1
CONTEXT, ACTION, SLOT = "C", "A", "S"
ACTION_ID, SLOT_ID = "action_id", "slot_id"
OTHER = "other"
CLIP = 1e6
_EMPTY_NAME = "%e"
_SPACE = re.compile(r"\s+")
_NAME_UNSAFE = re.compile(r"[%:|=\s\x00-\x20\x7f]")
_VALUE_UNSAFE = re.compile(r"[%:|\x00-\x20\x7f]")
_FLOAT32_TINY = 1.1754943508222875e-38


@dataclass(frozen=True, slots=True)
class Preprocessor:
    """How features become tokens. `vocabulary` maps `namespace.feature` to the texts kept; None keeps all."""

    vocabulary: Vocabulary | None = None
    clip: float = CLIP

    def context(self, features: Features) -> list[Token]:
        """Tokens of namespace C."""
        return self._tokens(CONTEXT, features)

    def action(self, action: Action) -> list[Token]:
        """Tokens of namespace A: the action's id first, then its features."""
        own = [(self._text(ACTION, ACTION_ID, escape_value(action.action_id)), 1.0)]
        return own + self._tokens(ACTION, action.features, skip=ACTION_ID)

    def slot(self, slot: Slot) -> list[Token]:
        """Tokens of namespace S: the slot's id first, then its features."""
        own = [(self._text(SLOT, SLOT_ID, escape_value(slot.slot_id)), 1.0)]
        return own + self._tokens(SLOT, slot.features, skip=SLOT_ID)

    def to_json(self) -> str:
        """Canonical text of this preprocessor; equal preprocessors give equal texts."""
        words = None
        if self.vocabulary is not None:
            words = {name: sorted(values) for name, values in sorted(self.vocabulary.items())}
        document = {"format": FORMAT_VERSION, "clip": self.clip, "vocabulary": words}
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Preprocessor:
        """Inverse of `to_json`; raises InputError for another format version."""
        document: dict[str, Any] = json.loads(text)
        if document.get("format") != FORMAT_VERSION:
            msg = f"vocabulary format {document.get('format')!r}; this release reads {FORMAT_VERSION}"
            raise InputError(msg)
        words = document["vocabulary"]
        vocabulary = None if words is None else {name: frozenset(values) for name, values in words.items()}
        return Preprocessor(vocabulary, float(document["clip"]))

    def digest(self) -> str:
        """SHA-256 of `to_json`, in hex."""
        return hashlib.sha256(self.to_json().encode("utf-8")).hexdigest()

    def _tokens(self, namespace: str, features: Features, skip: str | None = None) -> list[Token]:
        """In the order of the names: a score does not depend on how a client ordered its fields."""
        tokens = []
        for name, value in sorted(features.items()):
            token = None if name == skip else self._token(namespace, name, value)
            if token is not None:
                tokens.append(token)
        return tokens

    def _token(self, namespace: str, name: str, value: Scalar) -> Token | None:
        if value is None:
            return None
        if isinstance(value, str):
            return self._text(namespace, name, normalise(value)), 1.0
        if isinstance(value, bool):
            return f"{escape_name(name)}={'true' if value else 'false'}", 1.0
        if (isinstance(value, float) and not math.isfinite(value)) or abs(value) < _FLOAT32_TINY:
            return None
        return escape_name(name), float(min(max(value, -self.clip), self.clip))

    def _text(self, namespace: str, name: str, value: str) -> str:
        if self.vocabulary is not None and value not in self.vocabulary.get(f"{namespace}.{name}", ()):
            value = OTHER
        return f"{escape_name(name)}={value}"


IDENTITY = Preprocessor()


def normalise(value: str) -> str:
    """Lower case, white space runs as one `_`, the characters that Vowpal Wabbit reserves as %XX."""
    return escape_value(_SPACE.sub("_", value.strip().lower()))


def escape_value(value: str) -> str:
    """Percent-escape what may not appear in a token; reversible, keeps case."""
    return _VALUE_UNSAFE.sub(_percent, value) if _VALUE_UNSAFE.search(value) else value


def escape_name(name: str) -> str:
    """As `escape_value`, and `=` too, so that no name looks like a name with a value; never empty."""
    if not name:
        return _EMPTY_NAME
    return _NAME_UNSAFE.sub(_percent, name) if _NAME_UNSAFE.search(name) else name


def build_vocabulary(requests: Iterable[DecisionRequest], min_count: int) -> dict[str, frozenset[str]]:
    """Texts that appear in at least `min_count` decisions, per `namespace.feature`."""
    counts: Counter[tuple[str, str]] = Counter()
    for request in requests:
        counts.update(set(_words(request)))
    kept: dict[str, set[str]] = {}
    for (name, value), count in counts.items():
        if count >= min_count:
            kept.setdefault(name, set()).add(value)
    return {name: frozenset(values) for name, values in sorted(kept.items())}


def _words(request: DecisionRequest) -> Iterable[tuple[str, str]]:
    yield from _texts(CONTEXT, request.context)
    for action in request.candidates:
        yield f"{ACTION}.{ACTION_ID}", escape_value(action.action_id)
        yield from _texts(ACTION, action.features)
    for slot in request.slots:
        yield f"{SLOT}.{SLOT_ID}", escape_value(slot.slot_id)
        yield from _texts(SLOT, slot.features)


def _texts(namespace: str, features: Features) -> Iterable[tuple[str, str]]:
    for name, value in features.items():
        if isinstance(value, str):
            yield f"{namespace}.{name}", normalise(value)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8"))
