"""Feast's side of the history benchmark, for its own environment: FOLDER STORE OUT; prints what it took.

Two feature views with ttl, joined to the labels as of their time; Parquet in, Parquet out.
"""

import json
import resource
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path

warnings.filterwarnings("ignore")

import feast  # noqa: E402
import pandas as pd  # noqa: E402
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType  # noqa: E402
from feast.types import Float64, Int64  # noqa: E402


def store_of(folder: Path, kind: str) -> FeatureStore:
    """A store of the two views in a registry file of its own."""
    config = RepoConfig(
        project="bench",
        provider="local",
        registry=str(folder / f"{kind}.db"),
        online_store={"type": "sqlite", "path": str(folder / f"{kind}.online.db")},
        offline_store={"type": kind},
        entity_key_serialization_version=3,
    )
    store = FeatureStore(config=config)
    made = []
    views = {
        "user": ("users", 7, [Field(name="price", dtype=Float64), Field(name="n", dtype=Int64)]),
        "item": ("items", 1, [Field(name="stock", dtype=Int64)]),
    }
    for key, (name, days, fields) in views.items():
        entity = Entity(name=key, join_keys=[key], value_type=ValueType.INT64)
        source = FileSource(name=f"{name}_file", path=str(folder / f"{name}.parquet"), timestamp_field="ts")
        view = FeatureView(name=name, entities=[entity], ttl=timedelta(days=days), schema=fields, source=source)
        made += [entity, view]
    store.apply(made)
    return store


def main(folder: Path, kind: str, out: Path) -> None:
    """Join once and report CPU seconds, wall seconds and peak memory."""
    store = store_of(folder, kind)
    cpu, wall = time.process_time(), time.perf_counter()
    labels = pd.read_parquet(folder / "labels.parquet").rename(columns={"ts": "event_timestamp"})
    wanted = ["users:price", "users:n", "items:stock"]
    store.get_historical_features(entity_df=labels, features=wanted).to_df().to_parquet(out)
    spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(spent | {"peak_mb": peak, "version": feast.__version__}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
