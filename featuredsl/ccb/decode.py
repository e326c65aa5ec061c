"""Vowpal Wabbit CCB text -> decision request: for examples that carry nothing but their text."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from featuredsl.ccb.preprocess import ACTION_ID, SLOT_ID
from featuredsl.ccb.types import Action, DecisionRequest, Scalar, Slot
from schemas.records import RecordError

_PARTS = ("shared", "action", "slot")


def decode_request(text: str, slot_ids: Sequence[str]) -> DecisionRequest:
    """The request that `encode_example` would write as `text`; labels and tags are left out.

    An action without an `action_id` token is named by its position. Raises RecordError `bad_vw` for other text.
    """
    lines: dict[str, list[tuple[str, dict[str, Scalar]]]] = {part: [] for part in _PARTS}
    for line in text.strip().splitlines():
        head, bar, features = line.partition("|")
        words = head.split()
        if len(words) < 2 or words[0] != "ccb" or words[1] not in _PARTS or not bar:
            raise RecordError("bad_vw", f"not a line of CCB text: {line[:80]!r}")
        lines[words[1]].append((" ".join(words[2:]), _features(features)))
    if len(lines["shared"]) != 1 or len(lines["slot"]) != len(slot_ids):
        counts = f"{len(lines['shared'])} shared lines, {len(lines['slot'])} slots for {len(slot_ids)} labels"
        raise RecordError("bad_vw", counts)
    actions = tuple(_action(at, features) for at, (_, features) in enumerate(lines["action"]))
    slots = [_slot(name, line, actions) for name, line in zip(slot_ids, lines["slot"], strict=True)]
    return DecisionRequest(lines["shared"][0][1], actions, tuple(slots))


def _features(text: str) -> dict[str, Scalar]:
    """Features of all namespaces of a line; the first word after each bar is the namespace."""
    found: dict[str, Scalar] = {}
    for space in text.split("|"):
        for token in space.split()[0 if space[:1].isspace() else 1 :]:
            name, equals, value = token.partition("=")
            if equals:
                found[unquote(name)] = unquote(value)
            else:
                name, _, number = token.partition(":")
                found[unquote(name)] = _number(number, token)
    return found


def _number(text: str, token: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        raise RecordError("bad_vw", f"{token[:80]!r} has no number after the colon") from None


def _action(at: int, features: dict[str, Scalar]) -> Action:
    name = features.pop(ACTION_ID, None)
    return Action(str(at) if name is None else str(name), features)


def _slot(name: str, line: tuple[str, dict[str, Scalar]], actions: Sequence[Action]) -> Slot:
    head, features = line
    features.pop(SLOT_ID, None)
    return Slot(name, features, tuple(_included(head, actions)))


def _included(head: str, actions: Sequence[Action]) -> list[str]:
    """Candidates of an explicit list (`0,2`): a word of digits and commas that is no label and no tag."""
    words = [word for word in head.split() if word.replace(",", "").isdigit()]
    places = [int(place) for word in words for place in word.split(",") if place]
    if any(place >= len(actions) for place in places):
        raise RecordError("bad_vw", f"a slot lists a candidate beyond the last one: {head[:80]!r}")
    return [actions[place].action_id for place in places]
