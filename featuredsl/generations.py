"""Names of store versions: the base that `apply` records, and generations of it that a rebuild fills beside it.

A job without state must not write into live values: it would count from nothing. It fills a generation of its own,
`base-rYYYYMMDDTHHMMSS`, and readers follow it once it holds everything.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_GENERATION = re.compile(r"(?P<base>.+)-r\d{8}T\d{6}")


def base_of(store_version: str) -> str:
    """The store version that the registry has for a generation; itself for a base."""
    found = _GENERATION.fullmatch(store_version)
    return found["base"] if found else store_version


def generation(base: str, at_us: int) -> str:
    """The name of a generation that is begun at a time (microseconds)."""
    return f"{base}-r{datetime.fromtimestamp(at_us // 1_000_000, UTC):%Y%m%dT%H%M%S}"
