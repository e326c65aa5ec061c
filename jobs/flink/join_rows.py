"""What the join job computes in Python, as plain functions of texts: checks of a record, labels of a decision."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from featuredsl.ccb.attribution import Click, Evidence, JoinConfig, build_example, is_clicked
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.validate import read_impression
from schemas.records import RecordError, parse, validate

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
        impression = read_impression(json.loads(payload))
        found = tuple(Click(slot_id, ts_us, value) for slot_id, ts_us, value in json.loads(clicks))
        evidence = Evidence(found, _object(auction), json.loads(catalog), activation_us)
        example = build_example(impression, evidence, _rules(rules))
    except RecordError as error:
        return REJECTED, str(error), False, 0
    known = {slot.slot_id for slot in impression.request.slots}
    stray = sum(click.slot_id not in known for click in found)
    if example is None:
        return INACTIVE, "", False, stray
    body = json.dumps(to_record(example), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return EXAMPLE, body, is_clicked(example), stray


def _object(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json.loads(text)


@cache
def _rules(text: str) -> JoinConfig:
    values = json.loads(text)
    return JoinConfig(values["window_ms"] * 1000, values["late_ms"] * 1000, values["reward"])
