"""Scoring: decisions a second and latency of the REST service, against the bare ONNX Runtime call inside it.

80 candidates given as ids, one slot, 10 context features, a trained CCB model with context-action interactions.
Throughput is per second of the service's own CPU time, so that the load generator beside it does not count.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.load import Load, percentile, post_forever
from featuredsl.ccb.channel import publish
from featuredsl.ccb.encode import training_text
from featuredsl.ccb.preprocess import Preprocessor, build_vocabulary
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Action, DecisionRequest, Example, Features, Slot, SlotLabel
from jobs.training import vw
from jobs.training.export import ExportSpec, export
from serving.server import endpoint_file

MODEL = "bench"
CANDIDATES = 80
OPTIONS = "--ccb_explore_adf --cb_type mtr --clip_p 0.01 --epsilon 0.1 -q CA --random_seed 1 -b 18"


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report."""
    seconds = 3.0 if mode == "quick" else 20.0
    with tempfile.TemporaryDirectory(prefix="featuredsl-bench-") as folder:
        home = Path(folder)
        request = _champion(home)
        inside = _in_process(home, request)
        with _service(home) as (pid, port):
            host = "127.0.0.1"
            asyncio.run(post_forever(Load(host, port, 4, 1.0), "/v1/decide", _body))
            before = _cpu_seconds(pid)
            closed = asyncio.run(post_forever(Load(host, port, 4, seconds), "/v1/decide", _body))
            per_core = len(closed) / (_cpu_seconds(pid) - before)
            paced = Load(host, port, 8, seconds, rate=0.3 * len(closed) / seconds)
            latencies = asyncio.run(post_forever(paced, "/v1/decide", _body))
    return [
        _row(
            "decisions", "1/s of CPU", per_core, ("policy alone", 1 / inside["decide"]), (">= 1000", per_core >= 1_000)
        ),
        _row("decisions, closed loop", "1/s", len(closed) / seconds),
        _row(
            "latency p50 at 30 % load", "ms", percentile(latencies, 0.5) * 1e3, ("policy alone", inside["decide"] * 1e3)
        ),
        _row("latency p99 at 30 % load", "ms", p99 := percentile(latencies, 0.99) * 1e3, None, ("< 10", p99 < 10)),
        _row("policy alone", "us of CPU", inside["decide"] * 1e6, ("bare ONNX Runtime", inside["run"] * 1e6)),
    ]


def _row(
    metric: str,
    unit: str,
    ours: float,
    against: tuple[str, float] | None = None,
    target: tuple[str, bool] | None = None,
) -> dict[str, Any]:
    name, value = against or (None, None)
    text, met = target or (None, None)
    ratio = None if value is None else round(ours / value, 3)
    rounded = None if value is None else round(value, 3)
    return {
        "metric": metric,
        "unit": unit,
        "ours": round(ours, 3),
        "against": name,
        "against_value": rounded,
        "ratio": ratio,
        "target": text,
        "met": met,
    }


def _context(rng: random.Random) -> dict[str, Any]:
    texts = {f"user_feature_{at}": f"v{rng.randrange(6)}" for at in range(4)}
    return {**texts, **{f"segment__f{at}": round(rng.random() * 9, 2) for at in range(6)}}


def _item(number: int) -> Features:
    return {"category": f"c{number % 7}", "brand": f"b{number % 11}", "price": number * 0.25}


def _champion(home: Path) -> DecisionRequest:
    rng = random.Random(5)
    actions = tuple(Action(str(number), _item(number)) for number in range(CANDIDATES))
    requests = [DecisionRequest(_context(rng), actions, (Slot("1"),), f"r{number}") for number in range(400)]
    examples = [
        Example(request.seed or "", 0, request, (SlotLabel(str(rng.randrange(80)), -rng.random(), 1 / 80),))
        for request in requests
    ]
    pre = Preprocessor(build_vocabulary(requests, 3))
    work = home / "training"
    work.mkdir()
    text = "\n\n".join(training_text(example, pre) for example in examples) + "\n\n"
    (home / "data.txt").write_text(text, encoding="utf-8")
    vw.train(OPTIONS, home / "data.txt", work / "model.vw")
    export(work, ExportSpec(MODEL, pre, requests[:3]))
    publish(home / "champions", MODEL, "1", work)
    lines = [json.dumps({"action_id": a.action_id, "ts": 1_750_000_000_000, "features": a.features}) for a in actions]
    (home / "catalog.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = f'model = "{MODEL}"\ncatalog = "{home / "catalog.jsonl"}"\n[log]\npredictions = false\n'
    (home / "serve.toml").write_text(config, encoding="utf-8")
    return requests[0]


def _in_process(home: Path, request: DecisionRequest) -> dict[str, float]:
    scorer = CcbScorer.load(home / "training")
    slots = scorer._builder.build(request)
    return {
        "decide": _cpu_per_call(lambda: scorer.decide(request)),
        "run": _cpu_per_call(lambda: scorer._run(slots)),
    }


def _cpu_per_call(call: Callable[[], object], repeats: int = 300) -> float:
    call()
    begin = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - begin) / repeats


@contextmanager
def _service(home: Path) -> Iterator[tuple[int, int]]:
    code = "from serving.cli import serve; serve()"
    options = ["--config", str(home / "serve.toml"), "--home", str(home)]
    process = subprocess.Popen([sys.executable, "-c", code, *options], stdout=subprocess.DEVNULL)
    try:
        path = endpoint_file(home, MODEL)
        deadline = time.monotonic() + 60
        while not path.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the service did not start")
            time.sleep(0.05)
        port = urlsplit(json.loads(path.read_text())["rest"]).port
        yield process.pid, int(port or 0)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


_CONTEXTS = [json.dumps(_context(random.Random(seed))).encode() for seed in range(50)]
_IDS = json.dumps([str(number) for number in range(CANDIDATES)]).encode()


def _body(number: int) -> bytes:
    head = b'{"request_id":"r%d","slots":[{"slot_id":"1"}],"candidates":%b,"context":%b}'
    return head % (number, _IDS, _CONTEXTS[number % len(_CONTEXTS)])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
