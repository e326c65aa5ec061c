"""Is the clock of this machine ahead of the others'?"""

from __future__ import annotations

from typing import Final

from featuredsl.errors import InputError
from featuredsl.online.store import OnlineStore
from featuredsl.times import SECOND, format_time

MAX_AHEAD_US: Final = 60 * SECOND


def check_clock(store: OnlineStore, at_us: int) -> None:
    """Raise InputError where `at_us`, the time of a batch run, is more than a minute ahead of the time of every node of
    Redis: its records are yet to come, so the run would count as complete without them."""
    redis_us = max(int(seconds) * SECOND + int(us) for seconds, us in store.everywhere("TIME"))
    if at_us > redis_us + MAX_AHEAD_US:
        raise InputError(
            f"a batch run as of {format_time(at_us)} is ahead of the time of Redis ({format_time(redis_us)}), so "
            "records of before it are yet to come; set the clocks of this machine and of Redis, or give an earlier --at"
        )
