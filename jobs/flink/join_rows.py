"""What the join job computes in Python, as plain functions of texts: checks of a record, labels of a decision."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import Any

import orjson

from featuredsl.ccb.attribution import Click, Evidence, JoinConfig, build_example, is_clicked
from featuredsl.ccb.encode import action_line
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.preprocess import Preprocessor
from featuredsl.ccb.types import Action, Features, Scalar
from featuredsl.ccb.validate import read_impression, validated_impression
from schemas.records import RecordError, parse, validate

CACHED_LINES = 65_536
EXAMPLE, REJECTED, INACTIVE = "example", "rejected", "inactive"
Labelled = tuple[str, str, bool, int]


def check_record(kind: str, raw: str | None) -> str | None:
    """None for a good record (or none), else `reason: detail`."""
    if raw is None:
        return None
    try:
        record = parse(raw.encode("utf-8"))
        if kind == "impression":
            read_impression(record)
        else:
            validate(kind, record)
    except RecordError as error:
        return str(error)
    return None


def label_decision(
    payload: str, clicks: str, auction: str | None, activation_us: int | None, catalog: str, rules: str
) -> Labelled:
    """(kind, body, clicked, stray clicks) of a closed decision.

    The body is the example as JSON, or `reason: detail` of a refusal; stray clicks name a slot that the decision
    does not have.
    """
    try:
        impression = validated_impression(orjson.loads(payload))
        found = tuple(Click(slot_id, ts_us, value) for slot_id, ts_us, value in orjson.loads(clicks))
        evidence = Evidence(found, _object(auction), _catalog(catalog), activation_us)
        example = build_example(impression, evidence, _rules(rules))
    except RecordError as error:
        return REJECTED, str(error), False, 0
    known = {slot.slot_id for slot in impression.request.slots}
    stray = sum(click.slot_id not in known for click in found)
    if example is None:
        return INACTIVE, "", False, stray
    body = orjson.dumps(to_record(example, _cached_line)).decode("utf-8")
    return EXAMPLE, body, is_clicked(example), stray


def _cached_line(action: Action, _: Preprocessor) -> str:
    """Items change rarely: their lines are written once."""
    values = tuple(action.features.values())
    return _line(action.action_id, tuple(action.features), values, tuple(map(type, values)))


@lru_cache(maxsize=256)
def _catalog(text: str) -> dict[str, Features]:
    """Decisions close together mostly see the same items."""
    known: dict[str, Features] = orjson.loads(text)
    return known


@lru_cache(maxsize=CACHED_LINES)
def _line(action_id: str, names: tuple[str, ...], values: tuple[Scalar, ...], _: tuple[type, ...]) -> str:
    """The types tell 1 from 1.0 and True, which are equal."""
    return action_line(Action(action_id, dict(zip(names, values, strict=True))))


def _object(text: str | None) -> dict[str, Any] | None:
    return None if text is None else orjson.loads(text)


@cache
def _rules(text: str) -> JoinConfig:
    values = json.loads(text)
    return JoinConfig(values["window_ms"] * 1000, values["late_ms"] * 1000, values["reward"])
