"""The sample data set, as the set-up leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.open_bandit.dataset import DEFAULT_PATH, Dataset, load_dataset

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def dataset_path() -> Path:
    """The folder with random/ and bts/."""
    return ROOT / DEFAULT_PATH


@pytest.fixture(scope="session")
def dataset(dataset_path: Path) -> Dataset:
    """The whole sample."""
    return load_dataset(dataset_path)
