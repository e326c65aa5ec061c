from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.errors import InputError
from serving.config import GroupLookup, load_config

FILE = """
model = "shop"
replay = true
catalog = "kafka"
[[groups]]
group = "user_clicks"
entity = ["user"]
[features]
budget_ms = 8
[log]
sampling = 1.0
impressions = true
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "service.toml"
    path.write_text(text)
    return path


def test_file_and_options_are_merged(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, FILE), {"log.sampling": 0.5, "name": "blue", "catalog": None})
    assert (config.model, config.service_name, config.replay, config.catalog) == ("shop", "blue", True, "kafka")
    assert config.groups == (GroupLookup("user_clicks", ("user",)),)
    assert (config.features.budget_ms, config.log.sampling, config.log.impressions) == (8.0, 0.5, True)
    assert config.caps.candidates == 1_000


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "missing required field `model`"),
        ('model = "a/b"', "is not a name"),
        ('model = "a"\nmodle = "b"', "unknown key modle; known keys:"),
        ('model = "a"\n[log]\nsample = 1', "unknown key log.sample"),
        ('model = "a"\n[[groups]]\ngroup = "g"\nentity = ["e"]\nkeys = []', "unknown key groups[].keys"),
        ('model = "a"\n[log]\nsampling = 0.0', "log.sampling"),
        ('model = "a"\n[log]\nsampling = "1"', "$.log.sampling"),
        ('model = "a"\n[features]\nbudget_ms = 0', "must be positive"),
        ("model = ", "cannot read the service configuration"),
    ],
)
def test_a_wrong_file_names_the_key(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputError) as wrong:
        load_config(write(tmp_path, text), {})
    assert part in str(wrong.value)
    assert "service.toml" in str(wrong.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        load_config(tmp_path / "none.toml", {})
