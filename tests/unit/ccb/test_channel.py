"""The champion channel: what readers see while versions come, go and break."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.ccb import channel
from featuredsl.errors import InputError, StateError


def _artefact(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return folder


def test_publish_then_read(tmp_path: Path) -> None:
    assert channel.read_current(tmp_path, "m") is None
    one = channel.publish(tmp_path, "m", "1", _artefact(tmp_path / "a", "{}"))
    assert channel.read_current(tmp_path, "m") == one
    assert (one.path / "manifest.json").read_text(encoding="utf-8") == "{}"
    two = channel.publish(tmp_path, "m", "2", _artefact(tmp_path / "b", '{"x": 1}'))
    assert channel.read_current(tmp_path, "m") == two
    assert one.path.is_dir()
    assert channel.publish(tmp_path, "m", "1", tmp_path / "a") == one
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {one.path.name, two.path.name, "current.json"}


@pytest.mark.parametrize(("model", "version"), [("..", "1"), ("m", "../x"), ("", "1"), ("m", "-x"), ("a/b", "1")])
def test_names_cannot_leave_the_folder(tmp_path: Path, model: str, version: str) -> None:
    with pytest.raises(InputError, match="name"):
        channel.publish(tmp_path / "root", model, version, _artefact(tmp_path / "a", "{}"))


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a model artefact"):
        channel.publish(tmp_path, "m", "1", tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"version": "1"}'])
def test_a_damaged_pointer_is_an_error_and_can_be_pinned_again(tmp_path: Path, text: str) -> None:
    one = channel.publish(tmp_path, "m", "1", _artefact(tmp_path / "a", "{}"))
    two = channel.publish(tmp_path, "m", "2", _artefact(tmp_path / "b", '{"x": 1}'))
    (tmp_path / "m" / "current.json").write_text(text, encoding="utf-8")
    with pytest.raises(StateError, match="not a champion pointer"):
        channel.read_current(tmp_path, "m")
    assert channel.pin_last_good(tmp_path, "m", lambda path: path != two.path) == one
    assert channel.read_current(tmp_path, "m") == one
    with pytest.raises(StateError, match="none of the 2 published"):
        channel.pin_last_good(tmp_path, "m", lambda _: False)


def test_pinning_keeps_the_current_version_when_it_is_good(tmp_path: Path) -> None:
    one = channel.publish(tmp_path, "m", "1", _artefact(tmp_path / "a", "{}"))
    channel.publish(tmp_path, "m", "2", _artefact(tmp_path / "b", '{"x": 1}'))
    channel.publish(tmp_path, "m", "1", tmp_path / "a")
    assert channel.pin_last_good(tmp_path, "m", lambda _: True) == one


def test_freezing(tmp_path: Path) -> None:
    assert channel.frozen(tmp_path, "m") is None
    channel.freeze(tmp_path, "m", "incident")
    assert channel.frozen(tmp_path, "m") == "incident"
    (tmp_path / "m" / "frozen.json").write_text("{", encoding="utf-8")
    assert channel.frozen(tmp_path, "m") is not None
    channel.unfreeze(tmp_path, "m")
    assert channel.frozen(tmp_path, "m") is None
