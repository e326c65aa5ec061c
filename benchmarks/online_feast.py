"""Feast's side of the benchmark of online reads, for its own environment: a plan as JSON; prints times as JSON."""

import json
import random
import sys
import tempfile
import time
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

warnings.filterwarnings("ignore")

import feast  # noqa: E402
import pandas as pd  # noqa: E402
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType  # noqa: E402
from feast.types import Float64, Int64  # noqa: E402


def store_of(folder: Path, plan: dict) -> FeatureStore:
    """A store of as many views, filled."""
    config = RepoConfig(
        project="bench",
        provider="local",
        registry={"path": str(folder / "registry.db"), "cache_ttl_seconds": 3600},
        online_store={"type": "redis", "connection_string": plan["address"]},
        offline_store={"type": "dask"},
        entity_key_serialization_version=3,
    )
    store = FeatureStore(config=config)
    now = datetime.now(timezone.utc)  # noqa: UP017
    rng = random.Random(5)
    kinds = [Int64 if i % 2 else Float64 for i in range(plan["features"])]
    user = Entity(name="user", join_keys=["user"], value_type=ValueType.INT64)
    views, frames = [], {}
    for number in range(plan["groups"]):
        file = folder / f"v{number}.parquet"
        columns = {
            f"f{number}_{i}": [rng.randint(1, 99) if kind is Int64 else rng.random() for _ in range(plan["entities"])]
            for i, kind in enumerate(kinds)
        }
        frame = pd.DataFrame({"user": range(plan["entities"]), "ts": now, **columns})
        frame.to_parquet(file)
        source = FileSource(name=f"s{number}", path=str(file), timestamp_field="ts")
        fields = [Field(name=f"f{number}_{i}", dtype=kind) for i, kind in enumerate(kinds)]
        views.append(
            FeatureView(name=f"v{number}", entities=[user], ttl=timedelta(days=1), schema=fields, source=source)
        )
        frames[f"v{number}"] = frame
    store.apply([user, *views])
    for name, frame in frames.items():
        store.write_to_online_store(name, frame)
    return store


def main(plan: dict) -> None:
    """Read and report p50, p99 and CPU in milliseconds by number of entities."""
    with tempfile.TemporaryDirectory() as folder:
        store = store_of(Path(folder), plan)
        features = [f"v{g}:f{g}_{i}" for g in range(plan["groups"]) for i in range(plan["features"])]
        found = {"version": feast.__version__}
        for size, reads in plan["reads"].items():
            rng, times, spent = random.Random(int(size)), [], 0.0
            for number in range(reads + 10):
                rows = [{"user": user} for user in rng.sample(range(plan["entities"]), int(size))]
                begun, cpu = time.perf_counter(), time.process_time()
                answer = store.get_online_features(features=features, entity_rows=rows)
                if number >= 10:
                    spent += time.process_time() - cpu
                    times.append((time.perf_counter() - begun) * 1e3)
            values = answer.to_dict()
            assert all(value is not None for name in features for value in values[name.split(":")[1]]), values
            times.sort()
            found[size] = {
                "cpu": spent / len(times) * 1e3,
                "p50": times[len(times) // 2],
                "p99": times[int(len(times) * 0.99)],
            }
        print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
