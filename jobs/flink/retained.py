"""Checkpoints that outlive their job: which job of a name came last, and the newest one that it completed."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from featuredsl.errors import InputError
from featuredsl.settings import Settings

METADATA = "_metadata"


def remember_job(settings: Settings, name: str, job_id: str, checkpoint_dir: str) -> None:
    """Note that the job of this name has this id, and where it keeps its checkpoints."""
    earlier = [entry for entry in _remembered(settings, name) if entry["job_id"] != job_id]
    entries = [*earlier, {"job_id": job_id, "checkpoint_dir": checkpoint_dir}]
    _file(settings, name).write_text(json.dumps(entries[-20:], indent=2) + "\n", encoding="utf-8")


def newest_checkpoint(settings: Settings, name: str) -> str:
    """The URL of the newest complete checkpoint of the jobs of this name, the last started first.

    A checkpoint is complete when it has its `_metadata`; the highest number alone may be half written. Raises
    InputError when there is none that this machine can see.
    """
    for entry in reversed(_remembered(settings, name)):
        url = urlsplit(entry["checkpoint_dir"])
        if url.scheme not in ("", "file"):
            continue
        folder = Path(unquote(url.path)) / entry["job_id"]
        complete = [path.parent for path in folder.glob(f"chk-*/{METADATA}") if path.stat().st_size]
        if complete:
            return max(complete, key=lambda path: int(path.name.removeprefix("chk-"))).as_uri()
    msg = (
        f"no complete checkpoint of the job {name} is known under {settings.home / 'flink'}; name one with --from, or "
        "start without state under a new store version (`featuredsl apply --store-suffix`)"
    )
    raise InputError(msg)


def _file(settings: Settings, name: str) -> Path:
    return settings.home / "flink" / "client" / name / "jobs.json"


def _remembered(settings: Settings, name: str) -> list[dict[str, str]]:
    try:
        entries: list[dict[str, str]] = json.loads(_file(settings, name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return entries
