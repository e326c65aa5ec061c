"""After the week: do the counts add up, and do online and offline values agree?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from examples.open_bandit import topics_read
from examples.open_bandit.processes import Command, run_text
from examples.open_bandit.report import Check, Stage
from examples.open_bandit.run import DEFINITIONS
from examples.open_bandit.week import Loop
from featuredsl.registry import Registry
from jobs import kafka, kafka_offsets
from schemas import topics

MIN_VALUES = 500
HISTORY_EVERY = 20


def replayed(loop: Loop) -> Stage:
    """The replay itself: everything sent, every question answered."""
    counts, sent = loop.replay.counts, loop.sender.sent
    total = len(loop.run.timeline.decisions)
    checks = (
        Check("every decision was replayed", counts.decisions == total, f"{counts.decisions:,} of {total:,}"),
        Check("the service answered every decision", counts.failures == 0, f"{counts.failures} failures"),
        Check(
            "at most one answer in a hundred lacked something",
            counts.degraded <= total / 100,
            f"{counts.degraded} of {total:,} besides having no model yet",
        ),
        Check(
            "REST and gRPC decide alike",
            loop.pauses.grpc_different == 0 and loop.pauses.grpc_equal > 0,
            f"{loop.pauses.grpc_equal} of {loop.pauses.grpc_equal + loop.pauses.grpc_different} equal",
        ),
    )
    return Stage("replay", total, sum(sent.values()), None, f"topics {loop.settings.prefix}*", checks)


def served(loop: Loop) -> Stage:
    """The prediction log: one record for each answer."""
    found = topics_read.keys(loop.settings, topics.PREDICTIONS)
    broken = found.pop("broken", 0)
    answered = loop.replay.counts.decisions - loop.replay.counts.failures
    ids = {one.event_id for one in loop.run.timeline.decisions}
    logged = sum(found[name] == 1 for name in ids)
    check = Check("every answer is in the prediction log once", logged == answered, f"{logged:,} of {answered:,}")
    rejected = len(topics_read.dead_letters(loop.settings, topics.PREDICTIONS))
    where = f"topic {loop.settings.prefix}{topics.PREDICTIONS}"
    refused = Check("the torn line is a dead letter", rejected == broken == 1, f"{rejected} of {broken}")
    return Stage("predictions", answered, sum(found.values()), rejected, where, (check, refused))


def features(loop: Loop) -> Stage:
    """The feature job and the batch runs."""
    sent = loop.sender.sent
    letters = [topics_read.dead_letters(loop.settings, name) for name in (topics.EXPOSURES, topics.CLICKS)]
    rows = sent[topics.EXPOSURES] + sent[topics.CLICKS]
    rejected = sum(map(len, letters))
    check = Check("the torn lines are dead letters", rejected == 2, _reasons(letters))
    version = Registry.load(loop.settings.registry).store_versions["segment"]
    where = f"Redis, keys segment@{version}:{{…}}"
    return Stage("features (Flink → Redis)", rows, None, rejected, where, (check,))


def batches(loop: Loop) -> Stage:
    """Spark: history to Parquet, hourly and daily features to Redis."""
    runs = loop.pauses.batches
    landed = sum(source["landed"] for run in runs for source in run["sources"].values())
    rejected = sum(source["rejected"] for run in runs for source in run["sources"].values())
    written = sum(group["entities"] for run in runs for group in run["groups"])
    ends = kafka_offsets.end_offsets(
        loop.settings.kafka, [loop.settings.prefix + name for name in (topics.EXPOSURES, topics.CLICKS)]
    )
    wanted = sum(loop.sender.sent[name] for name in (topics.EXPOSURES, topics.CLICKS))
    check = Check(
        "the history holds every event", landed == wanted, f"{landed:,} of {wanted:,} ({len(ends)} partitions)"
    )
    where = loop.run.shown(loop.settings.home / "history")
    return Stage("batch (Spark → Redis)", wanted, written, rejected, where, (check,))


def joined(loop: Loop) -> Stage:
    """Every impression in exactly one example or dead letter; late clicks are counted and are no labels."""
    settings, counts = loop.settings, loop.replay.counts
    examples, rewarded = topics_read.examples(settings)
    letters = {name: topics_read.dead_letters(settings, name) for name in _JOINED}
    ids = {one.event_id for one in loop.run.timeline.decisions}
    once = sum(examples[name] == 1 for name in ids)
    late = sum(1 for _ in topics_read.records(settings, topics.LATE_CLICKS))
    checks = (
        Check(
            "every impression is in exactly one example",
            once == len(ids) == sum(examples.values()),
            f"{once:,} of {len(ids):,}",
        ),
        Check(
            "clicks in time are rewards, and nothing else is",
            rewarded == counts.clicks - counts.late_clicks,
            f"{rewarded} of {counts.clicks - counts.late_clicks}",
        ),
        Check("late clicks are counted", late == counts.late_clicks, f"{late} of {counts.late_clicks}"),
        Check(
            "one dead letter for the torn line of every topic",
            all(len(found) == 1 for found in letters.values()),
            _reasons(list(letters.values())),
        ),
    )
    sent = loop.sender.sent
    rows = sum(sent[name] for name in _JOINED)
    rejected = sum(len(found) for found in letters.values())
    return Stage(
        "join (Flink)", rows, sum(examples.values()), rejected, f"topic {settings.prefix}{topics.CCB_EXAMPLES}", checks
    )


_JOINED = (topics.IMPRESSIONS, topics.CLICKS, topics.AUCTIONS, topics.ACTIVATIONS, topics.CATALOG)


def history(loop: Loop) -> Stage:
    """A point-in-time training set for every twentieth decision, on DuckDB, from the events on Kafka."""
    folder = loop.settings.home / "training_set"
    folder.mkdir()
    events = {name: _dump(loop, name, folder / f"{name}.jsonl") for name in (topics.EXPOSURES, topics.CLICKS)}
    labels = folder / "labels.jsonl"
    picked = loop.run.timeline.decisions[::HISTORY_EVERY]
    with labels.open("w", encoding="utf-8") as file:
        for one in picked:
            row = {"segment": one.segment, "item_id": one.item_id, "affinity": one.affinity, "ts": one.ts_us // 1000}
            file.write(json.dumps(row) + "\n")
    out = folder / "train.jsonl"
    named = [part for name, path in events.items() for part in ("--events", f"{name}={path}")]
    run_text(
        "history", ["history", str(DEFINITIONS), *named, "--labels", str(labels), "--out", str(out)], loop.settings
    )
    rows = sum(1 for _ in out.open(encoding="utf-8"))
    check = Check("one row for each label", rows == len(picked), f"{rows:,} of {len(picked):,}")
    return Stage("history (point in time)", len(picked), rows, None, loop.run.shown(out), (check,))


def start_parity(loop: Loop) -> Command:
    """Have Spark recompute the logged online reads; `parity` waits for it."""
    return Command.start("parity", ["parity", "--reads", str(loop.reads.path), "--json"], loop.settings)


def parity(loop: Loop, compared: Command) -> Stage:
    """Online reads against Spark, for the same keys and times."""
    path, report = loop.reads.path, compared.json()
    values, trivial = report["values"], report["values"] - report["non_trivial"]
    wrong = {name: report[name] for name in ("mismatch", "missing", "extra")}
    pauses = len(loop.pauses.times)
    checks = (
        Check("0 mismatches", not any(wrong.values()), ", ".join(f"{n} {name}" for name, n in wrong.items())),
        Check(
            f"at least {MIN_VALUES} values at five pauses",
            values >= MIN_VALUES and pauses >= 5,
            f"{values:,} at {pauses}",
        ),
        Check("at least half neither 0 nor null", trivial <= values / 2, f"{report['non_trivial']:,} of {values:,}"),
    )
    detail = f"{loop.run.shown(path)} (lagging {report['lagging']}, ahead {report['ahead']})"
    return Stage("parity (online = Spark)", report["reads"], values, sum(wrong.values()), detail, checks)


def _dump(loop: Loop, name: str, path: Path) -> Path:
    """The good records of a topic as a file."""
    with path.open("wb") as file:
        for record in kafka.read_all(loop.settings.kafka, topics.topic(loop.settings.prefix, name)):
            value = record.value or b""
            if value.endswith(b"}") and not value.startswith(b'{"heartbeat"'):
                file.write(value + b"\n")
    return path


def _reasons(letters: list[dict[tuple[int, int], str]]) -> str:
    reasons: Counter[str] = Counter(reason for found in letters for reason in found.values())
    return ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "none"
