"""What was submitted last under a name, kept below the home folder, and the checkpoint that it left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from featuredsl.errors import FeatureError, StateError
from featuredsl.files import LocalFiles
from jobs.flink.rest import call

NAME_BYTES = 120
"""Of a job's name in the names of its files; file systems take 255 with what stands around it."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A submitted feature job: `versions` maps its groups to the store versions that it fills.

    `restored_from` is the checkpoint that it began with, `before` are the jobs to end once readers have moved,
    `published` says that they have. `plan` is the file of its compiled plan; None where a release before kept none.
    `refills` are topics with landed records, by the topic that has forgotten them.
    """

    name: str
    job_id: str
    group_id: str
    versions: Mapping[str, str]
    topics: tuple[str, ...]
    restored_from: str | None = None
    before: tuple[str, ...] = ()
    published: bool = False
    plan: str | None = None
    refills: Mapping[str, str] = field(default_factory=dict)


def file_stem(name: str) -> str:
    """The name of a job as that of its files: of a long one the beginning, and a hash that tells it from others."""
    data = name.encode()
    if len(data) <= NAME_BYTES:
        return name
    return f"{data[:NAME_BYTES].decode(errors='ignore')}-{hashlib.sha256(data).hexdigest()[:16]}"


def read_record(folder: Path, name: str) -> JobRecord | None:
    """The last submission of that name; None when there was none. Raises StateError for a broken file."""
    return _read(folder, file_stem(name))


def _read(folder: Path, stem: str) -> JobRecord | None:
    content = LocalFiles(folder).read(f"{stem}.json")
    if content is None:
        return None
    try:
        data = json.loads(content)
        lists = {key: tuple(data[key]) for key in ("topics", "before") if key in data}
        required = {key: data[key] for key in ("name", "job_id", "group_id", "versions")}
        return JobRecord(**{**data, **required, **lists})
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{folder / stem}.json is no record of a submitted job ({error!r}); remove it to start afresh"
        raise StateError(msg) from error


def read_records(folder: Path) -> list[JobRecord]:
    """The last submission of every name."""
    stems = [name.removesuffix(".json") for name in LocalFiles(folder).names() if name.endswith(".json")]
    return [record for stem in stems if (record := _read(folder, stem)) is not None]


def write_record(folder: Path, record: JobRecord) -> None:
    """Replace the record of that name at once."""
    LocalFiles(folder).replace(f"{file_stem(record.name)}.json", (json.dumps(asdict(record), indent=1) + "\n").encode())


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
