"""Names of the Kafka topics and of the record kind that each one carries."""

from __future__ import annotations

IMPRESSIONS = "impressions"
EXPOSURES = "exposures"
CLICKS = "clicks"
ACTIVATIONS = "activations"
AUCTIONS = "auctions"
CATALOG = "catalog"
LATE_CLICKS = "late_clicks"
CCB_EXAMPLES = "ccb_examples"
JOIN_COUNTS = "join_counts"
PREDICTIONS = "predictions"
OUTCOMES = "outcomes"
DRIFT_EVENTS = "drift_events"
RETRAIN_TRIGGERS = "retrain_triggers"

DEAD_LETTER_SUFFIX = ".dlq"
DEFAULT_PARTITIONS = 2

KINDS: dict[str, str] = {
    IMPRESSIONS: "impression",
    EXPOSURES: "exposure",
    CLICKS: "click",
    ACTIVATIONS: "activation",
    AUCTIONS: "auction",
    CATALOG: "catalog",
    LATE_CLICKS: "late_click",
    CCB_EXAMPLES: "ccb_example",
    JOIN_COUNTS: "join_count",
    PREDICTIONS: "prediction",
    OUTCOMES: "outcome",
    DRIFT_EVENTS: "drift_event",
    RETRAIN_TRIGGERS: "retrain_trigger",
}
"""Topic name (without a prefix) -> record kind, a key of `schemas.records.kinds()`."""

KEYS: dict[str, tuple[str, ...]] = {
    IMPRESSIONS: ("event_id",),
    EXPOSURES: ("event_id",),
    CLICKS: ("event_id",),
    ACTIVATIONS: ("event_id",),
    AUCTIONS: ("event_id",),
    CATALOG: ("action_id",),
    LATE_CLICKS: ("event_id",),
    CCB_EXAMPLES: ("event_id",),
    JOIN_COUNTS: ("name",),
    PREDICTIONS: ("request_id",),
    OUTCOMES: ("request_id",),
    DRIFT_EVENTS: ("data", "dedup_key"),
    RETRAIN_TRIGGERS: ("model",),
}
"""Topic name -> path of the field inside the record that is the Kafka message key."""

COMPACTED = frozenset({CATALOG, JOIN_COUNTS})
ALL = tuple(KINDS)
JOIN_INPUTS = (IMPRESSIONS, CLICKS, ACTIVATIONS, AUCTIONS, CATALOG)
INPUTS = (IMPRESSIONS, EXPOSURES, CLICKS, ACTIVATIONS, AUCTIONS, CATALOG, PREDICTIONS, OUTCOMES)


def topic(prefix: str, name: str) -> str:
    """The topic's name on the broker: `prefix` + `name`. Unknown names raise ValueError."""
    if name not in KINDS:
        msg = f"unknown topic {name!r}; known topics: {', '.join(ALL)}"
        raise ValueError(msg)
    return prefix + name


def dead_letter(name: str) -> str:
    """The dead-letter topic of a topic (with or without a prefix)."""
    return name + DEAD_LETTER_SUFFIX


def every_topic(prefix: str = "") -> tuple[str, ...]:
    """All topics of one installation with their dead letters, in a fixed order."""
    names = [topic(prefix, name) for name in ALL]
    return tuple(names + [dead_letter(topic(prefix, name)) for name in INPUTS])
