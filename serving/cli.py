"""`featuredsl run serve`: one scoring service in the foreground."""

from __future__ import annotations

import logging
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
import uvloop

from featuredsl.ccb.scorer import CcbScorer
from featuredsl.settings import Settings
from serving.champion import Policy
from serving.config import ServeConfig, load_config
from serving.reading import open_features
from serving.server import Endpoints, Server
from serving.service import Service

PORT = click.IntRange(0, 65535)
_EXAMPLE = """\b
Example:
  featuredsl run serve --model open_bandit --port 0 --grpc-port 0
  curl -s $REST/v1/decide -d '{"request_id": "r1", "candidates": ["1", "2"], "slots": [{"slot_id": "1"}]}'

The chosen addresses are printed and written to <home>/serve-<name>.json once requests are answered.
"""


@click.command("serve", epilog=_EXAMPLE)
@click.option("--model", help="Model name; the champion of this name is served.")
@click.option("--port", type=PORT, default=0, show_default="a free one", help="REST port on 127.0.0.1.")
@click.option("--grpc-port", type=PORT, default=0, show_default="a free one", help="gRPC port on 127.0.0.1.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="TOML file; options override it.")
@click.option("--name", help="Name of this service (default: the model's).")
@click.option("--replay/--live", default=None, help="Accept event times in requests.")
@click.option("--sampling", type=float, help="Share of predictions that are logged, in (0, 1].")
@click.option("--catalog", help="'kafka' or a JSON Lines file with the features of actions.")
@click.option("--home", type=click.Path(path_type=Path), help="State folder (default .featuredsl).")
def serve(model: str | None, port: int, grpc_port: int, config_file: Path | None, **options: Any) -> None:
    """Serve decisions of one model over REST and gRPC until SIGTERM or Ctrl-C."""
    if model is None and config_file is None:
        msg = "give --model NAME, or a file with `model` in --config"
        raise click.UsageError(msg)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = Settings.load(home=options.pop("home"))
    sampling = options.pop("sampling")
    config = load_config(config_file, {"model": model, "log.sampling": sampling, **options})
    stopped_by = uvloop.run(_run(config, settings, (port, grpc_port)))
    if stopped_by == "SIGINT":
        raise KeyboardInterrupt


async def _run(config: ServeConfig, settings: Settings, ports: tuple[int, int]) -> str | None:
    features = await open_features(config, settings)
    try:
        loader = partial(load_scorer, providers=config.providers)
        service = Service(config, settings, loader, (features.source, features.lookups))
        server = Server(service, ports, settings.home)
        await server.run(_announce)
    finally:
        await features.close()
    return server.stopped_by


def load_scorer(path: Path, providers: tuple[str, ...]) -> Policy:
    """An artefact directory as a policy, with its hashes and golden requests checked."""
    scorer: CcbScorer = CcbScorer.load(path, providers)
    scorer.verify()
    return scorer


def _announce(endpoints: Endpoints) -> None:
    click.echo(f"{endpoints.name}: REST {endpoints.rest}  gRPC {endpoints.grpc}")
