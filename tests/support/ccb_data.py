"""Seeded decision requests and labelled examples for tests of training and scoring."""

from __future__ import annotations

import random

from featuredsl.ccb.types import Action, DecisionRequest, Example, Scalar, Slot, SlotLabel


def random_request(
    rng: random.Random, candidates: int, slots: int, seed: str | None, lists: bool = True
) -> DecisionRequest:
    """A request with texts, digits, numbers, booleans and nulls; sometimes with include/exclude lists."""
    ids = [f"item {at}" if at % 5 else str(at) for at in range(candidates)]
    actions = tuple(Action(name, _features(rng, f"a{at % 7}")) for at, name in enumerate(ids))
    return DecisionRequest(
        {**_features(rng, "c"), "user": f"U{rng.randrange(6)}", "hour": rng.randrange(24)},
        actions,
        tuple(_slot(rng, at, ids, lists) for at in range(slots)),
        seed,
    )


def random_examples(rng: random.Random, count: int, candidates: int, slots: int) -> list[Example]:
    """Labelled examples, logged uniformly; candidates whose id is a multiple of five cost less for some users."""
    return [_example(rng, number, candidates, slots) for number in range(count)]


def _example(rng: random.Random, number: int, candidates: int, slots: int) -> Example:
    request = random_request(rng, candidates, slots, None, lists=False)
    labels = []
    for at, action in enumerate(rng.sample(request.candidates, slots)):
        good = action.action_id.isdigit() and request.context["user"] in ("U1", "U2")
        cost = -1.0 if rng.random() < (0.8 if good else 0.1) else 0.0
        labels.append(SlotLabel(action.action_id, cost, 1.0 / (candidates - at)))
    return Example(f"e{number}", 1_700_000_000_000_000 + number * 60_000_000, request, tuple(labels))


def _slot(rng: random.Random, at: int, ids: list[str], lists: bool) -> Slot:
    features: dict[str, Scalar] = {"place": rng.choice(["top", "side"]), "size": round(rng.uniform(0.1, 2), 3)}
    kind = rng.randrange(4) if lists else 0
    chosen = tuple(rng.sample(ids, max(2, len(ids) // 2)))
    include = chosen if kind in (1, 3) else ()
    exclude = chosen[:1] if kind in (2, 3) else ()
    return Slot(f"slot {at}", features, include, exclude)


def _features(rng: random.Random, prefix: str) -> dict[str, Scalar]:
    return {
        f"{prefix} text": rng.choice(["Red Shoe", "ünïcode", "http://x.example/a|b", "123"]),
        f"{prefix}:num": rng.choice([0, 1, -2, rng.uniform(-3, 3)]),
        f"{prefix}flag": rng.choice([True, False, None]),
        "12": round(rng.uniform(0, 5), 2),
    }
