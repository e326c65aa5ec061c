"""The Open Bandit sample (Saito et al., arXiv 2008.07146) as training examples and arrays."""

from __future__ import annotations

import csv
from datetime import datetime
from functools import cache
from pathlib import Path

from featuredsl.ccb.types import Action, DecisionRequest, Example, Slot, SlotLabel

DATA = Path(__file__).parents[2] / "build" / "obp" / "obp" / "dataset" / "obd"


@cache
def items(campaign: str, root: Path = DATA) -> tuple[Action, ...]:
    """The items of a campaign with their context."""
    with (root / "random" / campaign / "item_context.csv").open(encoding="utf-8") as file:
        return tuple(
            Action(
                row["item_id"],
                {
                    "price": round(float(row["item_feature_0"]), 4),
                    **{f"f{at}": row[f"item_feature_{at}"][:8] for at in (1, 2, 3)},
                },
            )
            for row in csv.DictReader(file)
        )


@cache
def examples(policy: str, campaign: str, root: Path = DATA) -> tuple[Example, ...]:
    """The 10,000 logged decisions of a policy, in file order (which is time order)."""
    candidates = items(campaign, root)
    with (root / policy / campaign / f"{campaign}.csv").open(encoding="utf-8") as file:
        return tuple(_example(policy, row, candidates) for row in csv.DictReader(file))


def _example(policy: str, row: dict[str, str], candidates: tuple[Action, ...]) -> Example:
    request = DecisionRequest(
        {f"user{at}": row[f"user_feature_{at}"][:8] for at in range(4)}, candidates, (Slot(row["position"]),)
    )
    label = SlotLabel(row["item_id"], -float(row["click"]), float(row["propensity_score"]))
    at = datetime.fromisoformat(row["timestamp"])
    return Example(f"{policy}-{row['']}", int(at.timestamp() * 1e6), request, (label,))
