"""Starting the feature job of a bundle of groups, and moving readers to what it fills."""

from __future__ import annotations

from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from jobs.flink.handle import JobHandle
from jobs.flink.publishing import Say, fill_batches, publish, wait_closed
from jobs.flink.records import Records
from jobs.flink.start_lock import one_start
from jobs.flink.starting import Start
from jobs.flink.tuning import Tuning

WARM_S = 24 * 3600.0


def start_stream(
    settings: Settings,
    names: str = "",
    tuning: Tuning | None = None,
    *,
    fresh: bool = False,
    restore: str = "",
    say: Say = lambda line: None,
    warm_s: float = WARM_S,
) -> JobHandle:
    """Submit one feature job for the named groups (all applied ones by default), and move readers to what it fills.

    It goes on from the checkpoint of the one before it, or from the savepoint `restore`. Without (or with `fresh`) it
    reads the topics from their start into store versions of its own; readers follow at once when nothing was there,
    else when it has caught up and the batch tiers are filled too. Then the jobs before it end: the one of its name, and
    those whose groups it has taken over.

    Raises InputError when the job runs already, another start of it is under way, or Redis may drop values that count;
    DependencyError when there are too few task slots or it has not caught up after `warm_s` seconds (it runs on: the
    next call waits for it again).
    """
    start = Start.of(settings, names)
    with one_start(settings.require("redis"), settings.prefix, start.name) as hold:
        record, warm = start.waiting(fresh), True
        if record is None:
            record, warm = start.begin(tuning or Tuning(), fresh, restore, hold, say)
        else:
            say(f"the job {start.name} runs already; waiting until it has caught up")
    handle = start.handle(record)
    if warm:
        handle.wait_lag_zero(warm_s)
        with start.store() as store:
            wait_closed(store, start.plans, handle, record.versions, warm_s, say)
            fill_batches(store, settings, start.plans, record.versions, say)
    with start.store() as store:
        publish(store, settings.prefix, record, say if warm else lambda line: None)
    start.end_before(record, say)
    return handle


def bundle_of(settings: Settings, group: str) -> tuple[str, ...]:
    """The groups of the job that fills what readers of `group` follow; itself alone when no job is known.

    Raises InputError for a group that is not applied.
    """
    registry = Registry.load(settings.registry)
    registry.group(group)
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        live = store.current([group]).get(group)
    for record in Records(settings).every():
        known = all(name in registry.groups for name in record.versions)
        if known and live is not None and record.versions.get(group) == live:
            return tuple(record.versions)
    return (group,)
