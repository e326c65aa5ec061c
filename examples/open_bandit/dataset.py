"""The Open Bandit sample as typed rows: 20,000 logged decisions of one week, and the catalog of 80 items.

Data set: Y. Saito, S. Aihara, M. Matsutani, Y. Narita, "Open Bandit Dataset and Pipeline: Towards Realistic
and Reproducible Off-Policy Evaluation", arXiv 2008.07146. The sample ships inside the `obp` 0.4.1 wheel.

One row is one decision with one slot, the position. `propensity_score` is the probability with which the
logging policy showed this item at this position: 1/80 everywhere for the uniform policy, the estimate for
Thompson sampling for the other. A decision has only that slot, so it is the conditional probability that a
bandit learner needs.

Categories are published as 32 hex digits; their first eight already tell them apart and keep records small.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from featuredsl.errors import InputError

POLICIES = ("random", "bts")
CAMPAIGN = "all"
ITEM_FEATURES = tuple(f"item_feature_{i}" for i in range(4))
USER_FEATURES = tuple(f"user_feature_{i}" for i in range(4))
DEFAULT_PATH = Path("build/obp/obp/dataset/obd")
_SHORT = 8


@dataclass(frozen=True, slots=True)
class Decision:
    """One logged decision; times are microseconds since the Unix epoch, UTC."""

    event_id: str
    ts_us: int
    policy: str
    position: str
    item_id: str
    probability: float
    clicked: bool
    user: tuple[str, ...]
    segment: str
    affinity: float


@dataclass(frozen=True, slots=True)
class Item:
    """One product of the catalog."""

    action_id: str
    features: dict[str, str | float]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Decisions in the order of (time, policy, row), and the items that could be shown."""

    decisions: tuple[Decision, ...]
    items: tuple[Item, ...]

    @property
    def first_us(self) -> int:
        """Time of the first decision."""
        return self.decisions[0].ts_us

    @property
    def last_us(self) -> int:
        """Time of the last decision."""
        return self.decisions[-1].ts_us


def load_dataset(root: Path) -> Dataset:
    """Read both policies of the campaign below `root` (the folder `obd` of the wheel).

    Item features come from the uniform policy's item context: the other file names the same categories by
    other hashes, one to one.

    Raises:
        InputError: a file is missing, or a row cannot be read.
    """
    keyed = [
        ((decision.ts_us, policy, row), decision)
        for policy in POLICIES
        for row, decision in enumerate(_decisions(root / policy / CAMPAIGN / f"{CAMPAIGN}.csv", policy))
    ]
    keyed.sort(key=lambda pair: pair[0])
    items = _items(root / POLICIES[0] / CAMPAIGN / "item_context.csv")
    return Dataset(tuple(decision for _, decision in keyed), items)


def segment_of(user: tuple[str, ...]) -> str:
    """A short stable name for a combination of user features: the data set has no user id."""
    return "s" + hashlib.sha256("|".join(user).encode()).hexdigest()[:_SHORT]


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        msg = (
            f"Open Bandit file not found: {path}. Run the setup (`./run setup`), or name the folder that "
            "holds random/ and bts/ with --data"
        )
        raise InputError(msg)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _decisions(path: Path, policy: str) -> list[Decision]:
    rows = _rows(path)
    try:
        for name in USER_FEATURES:
            _check_short(path, name, (row[name] for row in rows))
        return [_decision(row, policy, number) for number, row in enumerate(rows)]
    except (KeyError, ValueError) as error:
        msg = f"{path} is not an Open Bandit log: {error!r}"
        raise InputError(msg) from error


def _decision(row: dict[str, str], policy: str, number: int) -> Decision:
    user = tuple(row[name][:_SHORT] for name in USER_FEATURES)
    affinities = (float(value) for name, value in row.items() if name.startswith("user-item_affinity_"))
    return Decision(
        event_id=f"{policy}-{number}",
        ts_us=_micros(row["timestamp"]),
        policy=policy,
        position=row["position"],
        item_id=row["item_id"],
        probability=float(row["propensity_score"]),
        clicked=row["click"] == "1",
        user=user,
        segment=segment_of(user),
        affinity=sum(affinities),
    )


def _items(path: Path) -> tuple[Item, ...]:
    rows = _rows(path)
    try:
        for name in ITEM_FEATURES[1:]:
            _check_short(path, name, (row[name] for row in rows))
        return tuple(
            Item(row["item_id"], {name: _item_value(name, row[name]) for name in ITEM_FEATURES}) for row in rows
        )
    except (KeyError, ValueError) as error:
        msg = f"{path} is not an Open Bandit item context: {error!r}"
        raise InputError(msg) from error


def _item_value(name: str, text: str) -> str | float:
    return float(text) if name == ITEM_FEATURES[0] else text[:_SHORT]


def _check_short(path: Path, name: str, values: Iterable[str]) -> None:
    full = set(values)
    if len({value[:_SHORT] for value in full}) != len(full):
        msg = f"{path}: two values of {name} begin with the same {_SHORT} digits"
        raise InputError(msg)


def _micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = f"time without a zone: {text}"
        raise ValueError(msg)
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond
