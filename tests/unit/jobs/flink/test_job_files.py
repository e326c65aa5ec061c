"""Files about submitted jobs: their names, and who may read them."""

from __future__ import annotations

from pathlib import Path

from featuredsl.settings import Settings
from jobs.flink.records import JobRecord, file_stem, read_record, read_records, write_record
from jobs.flink.submit import _client_folder, _log, _write_config

LONG = "features-" + "-".join(f"user_activity_group_{number}" for number in range(12))


def test_short_names_stay_as_they_are() -> None:
    assert file_stem("features-user_clicks-item") == "features-user_clicks-item"
    assert file_stem("x" * 120) == "x" * 120


def test_long_names_are_readable_short_and_distinct() -> None:
    names = [LONG, LONG + "a", "ü" * 200, "ü" * 201]
    stems = [file_stem(name) for name in names]
    assert len(set(stems)) == 4
    assert all(len(stem.encode()) <= 137 for stem in stems)
    assert stems[0].startswith("features-user_activity_group_0-user_activity_group_1-")
    assert file_stem(LONG) == stems[0]


def test_records_of_long_names_are_kept_apart_and_found(tmp_path: Path) -> None:
    records = [JobRecord(name, "j", "g", {"user_clicks": "v1"}, ("t",)) for name in (LONG, LONG + "a", "short")]
    for record in records:
        write_record(tmp_path, record)
    assert [read_record(tmp_path, record.name) for record in records] == records
    assert sorted(read_records(tmp_path), key=lambda one: one.name) == sorted(records, key=lambda one: one.name)
    assert read_record(tmp_path, LONG + "b") is None


def test_the_configuration_of_a_job_is_its_owners_alone(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    folder = _client_folder(settings, LONG)
    open_file = folder / f"{file_stem(LONG)}.json"
    open_file.write_text("of an earlier release", encoding="utf-8")
    open_file.chmod(0o644)
    path = _write_config(folder, LONG, {"redis": "redis://u:secret@h"})
    assert path == open_file
    assert path.stat().st_mode & 0o777 == 0o600
    assert "secret" in path.read_text(encoding="utf-8")
    _log(settings, path).write_text("", encoding="utf-8")
