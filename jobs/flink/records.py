"""What was submitted last under a name, kept in Redis and below the home folder, and the checkpoint that it left.

Redis tells every machine from which jobs are submitted; the folder is what an emptied Redis cannot forget.
"""

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
from featuredsl.online.store import OnlineStore
from featuredsl.settings import Settings
from jobs.flink.rest import call

NAME_BYTES = 120
"""Of a job's name in the names of its files; file systems take 255 with what stands around it."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A submitted feature job: `versions` maps its groups to the store versions that it fills.

    `restored_from` is the checkpoint that it began with, `before` are the jobs to end once readers have moved,
    `published` says that they have. `plan` is the file of its compiled plan; None where a release before kept none.
    `refills` are topics with landed records, by the topic that has forgotten them; `stale_refills` those of
    the submissions before, to be deleted when readers follow this one. `checkpoints` is the folder of its
    checkpoints, as a URL.
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
    stale_refills: tuple[str, ...] = ()
    checkpoints: str | None = None

    def to_json(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, content: bytes, where: str) -> JobRecord:
        """The reverse of `to_json`. Raises StateError that says where it is kept."""
        try:
            data = json.loads(content)
            lists = {key: tuple(data[key]) for key in ("topics", "before", "stale_refills") if key in data}
            required = {key: data[key] for key in ("name", "job_id", "group_id", "versions")}
            return cls(**{**data, **required, **lists})
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{where} is no record of a submitted job ({error!r}); remove it to start afresh"
            raise StateError(msg) from error


class Records:
    """The submitted jobs of an installation (its prefix, its Redis), from whatever machine."""

    def __init__(self, settings: Settings) -> None:
        self._redis = settings.require("redis")
        self._key = f"featuredsl:{settings.prefix}submitted"
        self._folder = records_folder(settings)

    def read(self, name: str) -> JobRecord | None:
        """The last submission of that name; None when there was none."""
        with OnlineStore(self._redis) as store:
            content = store.replies([("HGET", self._key, name)])[0]
        return read_record(self._folder, name) if content is None else self._parsed(content, name)

    def every(self) -> list[JobRecord]:
        """The last submission of every name."""
        with OnlineStore(self._redis) as store:
            pairs = store.replies([("HGETALL", self._key)])[0]
        shared = [self._parsed(text, name.decode()) for name, text in zip(pairs[::2], pairs[1::2], strict=True)]
        names = {record.name for record in shared}
        return shared + [record for record in read_records(self._folder) if record.name not in names]

    def write(self, record: JobRecord) -> None:
        """Replace the record of that name, in both places."""
        write_record(self._folder, record)
        with OnlineStore(self._redis) as store:
            store.replies([("HSET", self._key, record.name, record.to_json())])

    def remove(self, name: str) -> None:
        """Forget the record of that name."""
        LocalFiles(self._folder).remove(f"{file_stem(name)}.json")
        with OnlineStore(self._redis) as store:
            store.replies([("HDEL", self._key, name)])

    def _parsed(self, content: bytes, name: str) -> JobRecord:
        return JobRecord.from_json(content, f"{name} in the Redis hash {self._key}")


def records_folder(settings: Settings) -> Path:
    """Where jobs that are submitted from here are recorded."""
    return settings.home / "flink" / "jobs"


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
    return JobRecord.from_json(content, f"{folder / stem}.json")


def read_records(folder: Path) -> list[JobRecord]:
    """The last submission of every name."""
    stems = [name.removesuffix(".json") for name in LocalFiles(folder).names() if name.endswith(".json")]
    return [record for stem in stems if (record := _read(folder, stem)) is not None]


def write_record(folder: Path, record: JobRecord) -> None:
    """Replace the record of that name at once."""
    LocalFiles(folder).replace(f"{file_stem(record.name)}.json", record.to_json().encode())


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
