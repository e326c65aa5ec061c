"""Decisions as Vowpal Wabbit CCB text.

```
ccb shared |C user=new hour:3
ccb action |A action_id=12 price:0.3
ccb slot 0:-1:0.25 seed=r1-0|S slot_id=1
```
Labels are `index:cost:probability` of the shown action; every slot of a labelled example has one, because the
learner would otherwise sample an action for the unlabelled slot. Namespaces are one letter each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from featuredsl.ccb.preprocess import ACTION, CONTEXT, IDENTITY, SLOT, Preprocessor, Token, escape_value
from featuredsl.ccb.types import Action, DecisionRequest, Example, Slot, SlotLabel
from featuredsl.ccb.validate import check_labels, check_request

ActionWriter: TypeAlias = Callable[[Action, Preprocessor], str]


def action_line(action: Action, pre: Preprocessor = IDENTITY) -> str:
    """The line of one candidate."""
    return f"ccb action |{ACTION}{_features(pre.action(action))}"


def encode_example(
    request: DecisionRequest,
    labels: Sequence[SlotLabel] | None,
    pre: Preprocessor = IDENTITY,
    write_action: ActionWriter = action_line,
) -> str:
    """The text of one example without a trailing newline; `labels` None = for prediction.

    `write_action` may answer from a cache what `action_line` says.
    Raises `schemas.records.RecordError` for a request or labels that must not reach the learner.
    """
    check_request(request)
    if labels is not None:
        check_labels(request, labels)
    return _write(request, labels, pre, write_action)


def _write(
    request: DecisionRequest, labels: Sequence[SlotLabel] | None, pre: Preprocessor, write_action: ActionWriter
) -> str:
    index = {action.action_id: at for at, action in enumerate(request.candidates)}
    lines = [f"ccb shared |{CONTEXT}{_features(pre.context(request.context))}"]
    lines += [write_action(action, pre) for action in request.candidates]
    for at, slot in enumerate(request.slots):
        label = "" if labels is None else f" {_label(index, labels[at])}"
        head = f"ccb slot{label}{_allowed(index, slot)} {_tag(request.seed, at)}"
        lines.append(f"{head}|{SLOT}{_features(pre.slot(slot))}")
    return "\n".join(lines)


def training_text(example: Example, pre: Preprocessor = IDENTITY, write_action: ActionWriter = action_line) -> str:
    """The text of a labelled example; its weight divides the probability (the text form has no weight).

    The request must have passed `check_request`, as that of every example has; the labels are checked here.
    """
    labels = [SlotLabel(item.chosen, item.cost, item.probability / example.weight) for item in example.labels]
    check_labels(example.request, labels)
    return _write(example.request, labels, pre, write_action)


def number(value: float) -> str:
    """Nine significant digits: all that a 32-bit float holds."""
    return f"{value:.9g}"


def _features(tokens: Sequence[Token]) -> str:
    return "".join(f" {name}" if value == 1.0 else f" {name}:{number(value)}" for name, value in tokens)


def _label(index: dict[str, int], label: SlotLabel) -> str:
    return f"{index[label.chosen]}:{number(label.cost)}:{number(label.probability)}"


def _allowed(index: dict[str, int], slot: Slot) -> str:
    if not slot.include and not slot.exclude:
        return ""
    names = slot.include or tuple(index)
    allowed = sorted(index[name] for name in set(names) - set(slot.exclude) if name in index)
    return " " + ",".join(str(at) for at in allowed)


def _tag(seed: str | None, at: int) -> str:
    return "" if seed is None else f"seed={escape_value(seed)}-{at}"
