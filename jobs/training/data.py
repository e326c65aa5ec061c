"""Training examples from a file or from Kafka: validated, distinct, in time order, split by time."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from featuredsl.ccb.decode import decode_request
from featuredsl.ccb.files import read_lines
from featuredsl.ccb.types import Action, DecisionRequest, Example, Scalar, Slot, SlotLabel
from featuredsl.ccb.validate import check_labels, check_request
from featuredsl.errors import InputError
from jobs import kafka
from schemas.records import RecordError, event_time_us

DAY_US = 86_400_000_000
_MISSING = "missing required field"
_Name = Annotated[str, Meta(min_length=1, max_length=512)]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Valid examples ordered by (time, event id), one per event id.

    `rejected` counts what was left out by reason; `sha256` identifies the valid records, whatever their order was.
    """

    examples: tuple[Example, ...]
    rejected: Mapping[str, int]
    sha256: str


@dataclass(frozen=True, slots=True)
class Split:
    """The earlier examples to learn from and the later ones to judge with."""

    training: tuple[Example, ...]
    holdout: tuple[Example, ...]


def read_file(path: Path) -> Dataset:
    """Examples of a JSON Lines, CSV or Parquet file, by suffix; InputError when it cannot be read."""
    try:
        return collect(line.payload for line in read_lines(path) if line.payload is not None)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise InputError(msg) from error


def read_topic(bootstrap: str, topic: str) -> Dataset:
    """All examples on a topic, up to its end at the time of the call."""
    return collect(record.value for record in kafka.read_all(bootstrap, topic) if record.value is not None)


def collect(payloads: Iterable[bytes]) -> Dataset:
    """Examples of JSON payloads; heartbeats are skipped, bad records and repeats counted."""
    rejected: Counter[str] = Counter()
    found: dict[str, tuple[Example, bytes]] = {}
    pool = _Pool()
    for payload, example in _parsed(payloads, rejected):
        if example.event_id in found:
            rejected["duplicate"] += 1
            continue
        found[example.event_id] = (pool.shared(example), hashlib.sha256(payload.strip()).digest())
    ordered = sorted(found.values(), key=lambda entry: (entry[0].ts_us, entry[0].event_id))
    digest = hashlib.sha256(b"".join(key for _, key in ordered)).hexdigest()
    return Dataset(tuple(example for example, _ in ordered), dict(rejected), digest)


def last_days(examples: tuple[Example, ...], days: float | None) -> tuple[Example, ...]:
    """The examples decided within `days` before the newest one; all of them when None."""
    if days is None or not examples:
        return examples
    first = examples[-1].ts_us - int(days * DAY_US)
    return tuple(example for example in examples if example.ts_us >= first)


def split_by_time(examples: tuple[Example, ...], holdout: float) -> Split:
    """The last share `holdout` of the ordered examples is held out; decisions of one instant stay together."""
    cut = round(len(examples) * (1.0 - holdout))
    while 0 < cut < len(examples) and examples[cut].ts_us == examples[cut - 1].ts_us:
        cut += 1
    return Split(examples[:cut], examples[cut:])


class _Pool:
    """Replaces equal candidates by one object: a day of decisions holds millions of them, few of them distinct."""

    def __init__(self) -> None:
        self._actions: dict[Hashable, Action] = {}
        self._lists: dict[tuple[int, ...], tuple[Action, ...]] = {}

    def shared(self, example: Example) -> Example:
        actions = tuple([self._action(action) for action in example.request.candidates])
        actions = self._lists.setdefault(tuple(map(id, actions)), actions)
        return replace(example, request=replace(example.request, candidates=actions))

    def _action(self, action: Action) -> Action:
        values = tuple(action.features.values())
        key = (action.action_id, *action.features, values, tuple(map(type, values)))
        return self._actions.setdefault(key, action)


class _Label(Struct):
    slot_id: _Name
    chosen: _Name
    probability: float
    cost: float


class _Decision(Struct):
    context: dict[str, Scalar]
    candidates: tuple[Action, ...]
    slots: tuple[Slot, ...]


class _Record(Struct):
    """The fields of a `ccb_example` record that training needs; the types are those of its JSON Schema."""

    heartbeat: bool = False
    event_id: Annotated[str, Meta(max_length=512)] = ""
    ts: int | None = None
    slots: tuple[_Label, ...] = ()
    decision: _Decision | None = None
    vw: str = ""
    weight: float = 1.0
    model: str | None = None
    model_version: str | None = None


_DECODER = msgspec.json.Decoder(_Record)


def _parsed(payloads: Iterable[bytes], rejected: Counter[str]) -> Iterator[tuple[bytes, Example]]:
    for payload in payloads:
        try:
            example = _example(_DECODER.decode(payload))
        except msgspec.ValidationError as error:
            rejected["missing_field" if _MISSING in str(error) else "bad_type"] += 1
        except (msgspec.DecodeError, UnicodeDecodeError):
            rejected["bad_json"] += 1
        except RecordError as error:
            rejected[error.reason] += 1
        else:
            if example is not None:
                yield payload, example


def _example(record: _Record) -> Example | None:
    """The example of a record, None for a heartbeat; raises RecordError when it must not reach the learner."""
    if record.heartbeat:
        return None
    if not record.event_id or record.ts is None or not (record.decision or record.vw):
        detail = "a training example needs `event_id`, `ts` and `decision` or `vw`"
        raise RecordError("missing_field", detail)
    request = _request(record)
    labels = tuple(SlotLabel(item.chosen, item.cost, item.probability) for item in record.slots)
    check_request(request)
    check_labels(request, labels)
    if not record.weight > 0:
        raise RecordError("out_of_range", f"weight {record.weight} is not positive")
    at = event_time_us(record.ts)
    return Example(record.event_id, at, request, labels, record.weight, record.model, record.model_version)


def _request(record: _Record) -> DecisionRequest:
    """What was decided: as structured data where the record has it, else from its text."""
    found = record.decision
    if found is None:
        return decode_request(record.vw, [item.slot_id for item in record.slots])
    return DecisionRequest(found.context, found.candidates, found.slots)
