"""The local stack of a test session: parts are started when a test asks for them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from featuredsl.settings import Settings
from localstack.service import Layout
from localstack.stack import down, up

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / "build" / "jars"


@dataclass
class TestStack:
    """`need(...)` starts parts once and gives the settings, with a topic prefix of its own each time."""

    __test__ = False
    home: Path
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def need(self, *parts: str) -> Settings:
        """Settings with the addresses of these parts (kafka, redis, flink, spark), all of them ready."""
        up(Layout(self.home, JARS), parts)
        number = next(self._numbers)
        return Settings.load(
            home=self.home,
            jars=JARS,
            prefix=f"t{number}_",
            registry=self.home / f"registry-{number}",
            mlflow=f"sqlite:///{self.home / f'mlflow-{number}.db'}",
        )

    def stop(self) -> None:
        """End everything."""
        down(Layout(self.home, JARS))
