"""A look at stream jobs on a real Redis that knows them, and on one that was emptied."""

from __future__ import annotations

from pathlib import Path

from featuredsl.online.progress import StreamNote, key, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from jobs.flink.freshness import UNKNOWN, look
from jobs.flink.records import JobRecord, write_record
from tests.integration.online.test_namespaces import AT_US, DEFINITIONS
from tests.support.redis_process import RedisProcess


def test_jobs_stay_known_when_redis_was_emptied(server: RedisProcess, tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(DEFINITIONS, encoding="utf-8")
    version = apply(tmp_path / "registry", file)["g"]
    settings = Settings.load(home=tmp_path, redis=server.url)
    write_record(tmp_path / "flink" / "jobs", JobRecord("features-g", "j2", "group", {"g": version}, ("events",)))
    note = StreamNote("features-g", "j1", "group", ("g",), {"events": "events"}, AT_US)
    server.client.hset(streams_key(""), note.name, note.to_json())
    registry = Registry.load(tmp_path / "registry")
    with OnlineStore(server.url) as store:
        assert [job.note.job_id for job in look(settings, registry, store, AT_US).jobs] == ["j1"]
        server.client.flushall()
        server.client.hset(key("group", "events", "accepted"), mapping={"n": "7", "t": str(AT_US)})
        (job,) = look(settings, registry, store, AT_US).jobs
    assert (job.note.job_id, job.state, job.note.topics) == ("j2", UNKNOWN, {"events": "events"})
    assert job.progress["events"].counts == {"accepted": 7}
