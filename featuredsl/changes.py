"""What applying a new plan over an old one would change: unchanged, compatible, rebuild, removed or breaking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from featuredsl.fingerprint import canonical
from featuredsl.plan import GroupPlan, OnDemandFeature, StoredFeature

Kind = Literal["unchanged", "new", "compatible", "rebuild", "removed", "breaking"]
KINDS: tuple[Kind, ...] = ("unchanged", "new", "compatible", "rebuild", "removed", "breaking")
"""By weight."""


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """What happens to one feature, and why."""

    name: str
    kind: Kind
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GroupChange:
    """What happens to a group: the heaviest of its features and of `reasons`; no new version: it is removed.

    `backfill` is true when values must be computed again under a new store version, `retrain` when a feature that
    existed before means something else now.
    """

    group: str
    kind: Kind
    old_version: str | None
    new_version: str | None
    features: tuple[FeatureChange, ...]
    reasons: tuple[str, ...]
    backfill: bool
    retrain: bool


def compare(old: GroupPlan | None, new: GroupPlan, *, used: bool = True) -> GroupChange:
    """The change from `old` (None: not applied yet) to `new`; `used` says whether a model uses the group.

    A feature that is removed or changes its type breaks models; where there is none it is a rebuild.
    """
    if old is None:
        features = tuple(FeatureChange(name, "new") for name in new.feature_names)
        return GroupChange(new.name, "new", None, new.version, features, (), backfill=True, retrain=False)
    features = tuple(_features(old, new, "breaking" if used else "rebuild"))
    group_level = list(_group_level(old, new))
    kinds = [*(change.kind for change in features), *(kind for kind, _ in group_level)]
    kinds = ["compatible" if kind == "new" else kind for kind in kinds]
    before, after = canonical(old), canonical(new)
    return GroupChange(
        group=new.name,
        kind=max(kinds, key=KINDS.index, default="unchanged"),
        old_version=old.version,
        new_version=new.version,
        features=features,
        reasons=tuple(reason for _, reason in group_level),
        backfill={**before, "on_demand": {}} != {**after, "on_demand": {}},
        retrain=any(change.kind in ("rebuild", "breaking") and change.name in old.feature_names for change in features)
        or old.entity != new.entity,
    )


def removed(group: str, version: str, features: Iterable[str], *, used: bool) -> GroupChange:
    """The change of a group that is gone from the file that it was applied from: it breaks the models that use it."""
    kind: Kind = "breaking" if used else "removed"
    gone = tuple(FeatureChange(name, kind, "removed" if used else "") for name in features)
    return GroupChange(group, kind, version, None, gone, ("removed from the file",), backfill=False, retrain=used)


def _group_level(old: GroupPlan, new: GroupPlan) -> Iterator[tuple[Kind, str]]:
    if old.entity != new.entity:
        yield "breaking", f"entity {_entity(old)} -> {_entity(new)}"
    if old.retention_us != new.retention_us:
        yield "rebuild", "retention"
    if old.owner != new.owner:
        yield "compatible", f"owner {old.owner!r} -> {new.owner!r}"
    if old.bundle != new.bundle:
        yield "compatible", f"bundle {old.bundle} -> {new.bundle}: another Flink job fills a new store version"
    if old.doc != new.doc:
        yield "compatible", "docs"


def _entity(plan: GroupPlan) -> str:
    return f"({', '.join(f'{name}: {dtype}' for name, dtype in plan.entity)})"


def _features(old: GroupPlan, new: GroupPlan, lost: Kind) -> Iterator[FeatureChange]:
    before = {item.name: item for item in (*old.features, *old.on_demand)}
    after = {item.name: item for item in (*new.features, *new.on_demand)}
    for name, item in after.items():
        if name in before:
            yield _change(old, before[name], new, item, lost)
        elif isinstance(item, OnDemandFeature):
            yield FeatureChange(name, "compatible", "new, on demand: nothing is stored")
        else:
            yield FeatureChange(name, "rebuild", "new: the store layout changes")
    for name in before:
        if name not in after:
            yield FeatureChange(name, lost, "removed")


def _change(
    old: GroupPlan,
    before: StoredFeature | OnDemandFeature,
    new: GroupPlan,
    after: StoredFeature | OnDemandFeature,
    lost: Kind,
) -> FeatureChange:
    if before.dtype != after.dtype:
        return FeatureChange(after.name, lost, f"type {before.dtype} -> {after.dtype}")
    was, now = meaning(old, before), meaning(new, after)
    changed = sorted(key for key in {*was, *now} if was.get(key) != now.get(key))
    if changed:
        return FeatureChange(after.name, "rebuild", f"changed: {', '.join(changed)}")
    told = [what for what in ("doc", "tags") if getattr(before, what) != getattr(after, what)]
    if told:
        return FeatureChange(after.name, "compatible", f"only {', '.join(told)}")
    return FeatureChange(after.name, "unchanged")


def meaning(plan: GroupPlan, feature: StoredFeature | OnDemandFeature) -> dict[str, Any]:
    """A feature as plain data with the sources and the features that it is made of."""
    data = canonical(plan)
    if isinstance(feature, OnDemandFeature):
        made = {item.name: item for item in (*plan.features, *plan.on_demand)}
        inputs = {f"input {name}": meaning(plan, made[name]) for name in feature.inputs if name in made}
        return {"kind": "on_demand", **data["on_demand"][feature.name], **inputs}
    names = _sources(feature)
    return {
        **data["features"][feature.name],
        **{f"source {name}": source for name, source in data["sources"].items() if name in names},
    }


def _sources(feature: StoredFeature) -> set[str]:
    if hasattr(feature, "aggregate"):
        return {partial.source for partial in feature.aggregate.partials}
    return {feature.source}
