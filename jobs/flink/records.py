"""What was submitted last under a name, kept below the home folder, and the checkpoint that it left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from featuredsl.errors import FeatureError, StateError
from featuredsl.files import LocalFiles
from jobs.flink.rest import call


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A submitted feature job: `versions` maps its groups to the store versions that it fills.

    `restored_from` is the checkpoint that it began with, `before` are the jobs to end once readers have moved,
    `published` says that they have.
    """

    name: str
    job_id: str
    group_id: str
    versions: Mapping[str, str]
    topics: tuple[str, ...]
    restored_from: str | None = None
    before: tuple[str, ...] = ()
    published: bool = False


def read_record(folder: Path, name: str) -> JobRecord | None:
    """The last submission of that name; None when there was none. Raises StateError for a broken file."""
    content = LocalFiles(folder).read(f"{name}.json")
    if content is None:
        return None
    try:
        data = json.loads(content)
        lists = {key: tuple(data[key]) for key in ("topics", "before") if key in data}
        required = {key: data[key] for key in ("name", "job_id", "group_id", "versions")}
        return JobRecord(**{**data, **required, **lists})
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{folder / name}.json is no record of a submitted job ({error!r}); remove it to start afresh"
        raise StateError(msg) from error


def read_records(folder: Path) -> list[JobRecord]:
    """The last submission of every name."""
    names = [name.removesuffix(".json") for name in LocalFiles(folder).names() if name.endswith(".json")]
    return [record for name in names if (record := read_record(folder, name)) is not None]


def write_record(folder: Path, record: JobRecord) -> None:
    """Replace the record of that name at once."""
    LocalFiles(folder).replace(f"{record.name}.json", (json.dumps(asdict(record), indent=1) + "\n").encode())


def newest_checkpoint(url: str, job_id: str, folder_url: str) -> str | None:
    """The newest completed checkpoint of a job: as the JobManager remembers it, else as its folder shows.

    A JobManager that was started anew has forgotten the jobs before it; folders are looked into only where they
    are local.
    """
    try:
        latest = call(url, f"/jobs/{job_id}/checkpoints")["latest"]["completed"]
    except FeatureError:
        latest = None
    if latest and latest.get("external_path"):
        return str(latest["external_path"])
    parts = urlsplit(folder_url)
    if parts.scheme not in ("", "file"):
        return None
    folder = Path(url2pathname(parts.path)) / job_id
    done = [path.parent for path in folder.glob("chk-*/_metadata") if path.stat().st_size]
    newest = max(done, key=lambda path: int(path.name.removeprefix("chk-")), default=None)
    return None if newest is None else newest.as_uri()
