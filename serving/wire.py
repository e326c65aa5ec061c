"""Requests and answers of the scoring service as typed values: strict parsing, precise refusals."""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

import msgspec

from serving.config import Caps

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Scalar: TypeAlias = str | Int64 | float | bool | None
Features: TypeAlias = dict[str, Scalar]
Input: TypeAlias = Scalar | list[str | Int64 | float]
"""A request input of on-demand features: a scalar, or an array of numbers or of strings."""
KeyPart: TypeAlias = str | Int64 | bool
T = TypeVar("T")

MIN_TS_MS = 315_532_800_000
MAX_TS_MS = 4_133_980_799_999


class RequestError(Exception):
    """A request that cannot be answered: HTTP `status`, stable `code`, and a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class CandidateBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action; without features the catalog's are used."""

    action_id: Name
    features: Features = {}


class SlotBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place to fill, optionally with the only (`include`) or never (`exclude`) allowed actions."""

    slot_id: Name
    features: Features = {}
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class DecideBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """POST /v1/decide. A candidate given as a string is an action id."""

    request_id: Name
    candidates: tuple[str | CandidateBody, ...]
    slots: tuple[SlotBody, ...]
    context: Features = {}
    entities: dict[str, KeyPart] = {}
    request: dict[str, Input] = {}
    model: str | None = None
    unit_id: str | None = None
    tenant: str | None = None
    seed: str | None = None
    ts: int | None = None


class RewardBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """POST /v1/reward: what a decision, or one slot of it, earned."""

    request_id: Name
    value: float
    slot_id: Name | None = None
    ts: int | None = None
    columns: Features = {}


_DECIDE = msgspec.json.Decoder(DecideBody)
_REWARD = msgspec.json.Decoder(RewardBody)


def parse_decide(payload: bytes, caps: Caps, replay: bool) -> DecideBody:
    """A checked decide request. Raises RequestError (400 or 413) with the path of the wrong field."""
    body = _decode(_DECIDE, payload)
    check_decide(body, caps, replay)
    return body


def parse_reward(payload: bytes, replay: bool) -> RewardBody:
    """A checked reward. Raises RequestError (400)."""
    body = _decode(_REWARD, payload)
    check_reward(body, replay)
    return body


def check_decide(body: DecideBody, caps: Caps, replay: bool) -> None:
    """The rules beyond types, for requests of any transport. Raises RequestError (400)."""
    _check_count("candidates", len(body.candidates), caps.candidates)
    _check_count("slots", len(body.slots), caps.slots)
    _check_ts(body.ts, replay)
    _check_unique("candidates", [candidate_id(item) for item in body.candidates])
    if len(body.slots) > 1:
        _check_unique("slots", [slot.slot_id for slot in body.slots])
    if "" in body.context:
        refuse("empty_name", "$.context: a feature name is empty")


def check_reward(body: RewardBody, replay: bool) -> None:
    """The rules beyond types, for rewards of any transport. Raises RequestError (400)."""
    _check_ts(body.ts, replay)
    if not math.isfinite(body.value):
        refuse("not_finite", "$.value: NaN and infinities are not rewards")


def candidate_id(candidate: str | CandidateBody) -> str:
    """The action id of a candidate in either form."""
    return candidate if isinstance(candidate, str) else candidate.action_id


def refuse(code: str, message: str, status: int = 400) -> NoReturn:
    """Raise a RequestError."""
    raise RequestError(status, code, message)


def _decode(decoder: msgspec.json.Decoder[T], payload: bytes) -> T:
    try:
        return decoder.decode(payload)
    except msgspec.ValidationError as error:
        refuse("invalid_field", _with_key(str(error), payload))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        refuse("invalid_json", f"the body is not one JSON object in UTF-8: {error}")
    except RecursionError:
        refuse("invalid_json", "the body is nested too deeply")


def _check_count(name: str, count: int, limit: int) -> None:
    if count == 0:
        refuse("empty", f"$.{name}: at least one is needed")
    if count > limit:
        refuse("too_many", f"$.{name}: {count} are more than the limit of {limit}", status=413)


def _check_unique(name: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids) or "" in ids:
        seen: set[str] = set()
        for place, value in enumerate(ids):
            if not value:
                refuse("empty_id", f"$.{name}[{place}]: the id is empty")
            if value in seen:
                refuse("duplicate_id", f"$.{name}[{place}]: {value!r} is there twice")
            seen.add(value)


def _check_ts(ts: int | None, replay: bool) -> None:
    if ts is None:
        return
    if not replay:
        refuse("ts_refused", "$.ts: accepted only by a service that runs with replay = true; leave it out")
    if not MIN_TS_MS <= ts <= MAX_TS_MS:
        refuse("bad_time", f"$.ts: {ts} is outside 1980..2100 in epoch milliseconds")


_PATH = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)\[\.\.\.\](?P<rest>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def _with_key(message: str, payload: bytes) -> str:
    """Replace the `[...]` of a mapping in a validation message by the first key whose value is wrong."""
    match = _PATH.match(message)
    if match is None:
        return message
    try:
        node: Any = json.loads(payload)
        for name, index in _STEP.findall(match["path"]):
            node = node[name] if name else node[int(index)]
        key = min(node, key=lambda name: _suspicion(node[name]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return message
    return f"{match['what']} - at `${match['path']}.{key}`"


def _suspicion(value: object) -> int:
    """Smaller for values that no feature can have; null is wrong only for keys."""
    if isinstance(value, dict | list):
        return 0
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return 0
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return 1 if value is None else 2
