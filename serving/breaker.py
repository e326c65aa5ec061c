"""A circuit breaker: after failures in a row, stop trying for a while, then let one attempt through."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """Closed, open until a time, or half open with one probe under way. Times are seconds of any clock."""

    failures_to_open: int
    open_for_s: float
    _failures: int = 0
    _open_until: float | None = None
    _probing: bool = False

    @property
    def is_open(self) -> bool:
        """True from opening until a probe succeeds."""
        return self._open_until is not None

    def allow(self, now_s: float) -> bool:
        """May an attempt start? While half open only one may; its outcome must be reported."""
        if self._open_until is None:
            return True
        if now_s < self._open_until or self._probing:
            return False
        self._probing = True
        return True

    def success(self) -> None:
        """An attempt worked: close."""
        self._failures, self._open_until, self._probing = 0, None, False

    def failure(self, now_s: float) -> None:
        """An attempt failed: open after enough of them, or at once when it was the probe."""
        self._failures += 1
        if self._probing or self._failures >= self.failures_to_open:
            self._open_until = now_s + self.open_for_s
        self._probing = False

    def abandon(self) -> None:
        """An attempt ended without a verdict (its request was cancelled): another one may probe."""
        self._probing = False
