"""Rate limits for messages of the log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from threading import Lock


class LogThrottle:
    """Lets one event of a name pass in each period of so many seconds, and counts the others."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._passed: dict[str, float] = {}
        self._held: Counter[str] = Counter()
        self._lock = Lock()

    def passes(self, name: str) -> int | None:
        """None for an event that is held back; else how many were since the last that passed.

        Names are kept for ever: there must be few of them.
        """
        with self._lock:
            now = self._clock()
            if now - self._passed.get(name, -self._seconds) < self._seconds:
                self._held[name] += 1
                return None
            self._passed[name] = now
            return self._held.pop(name, 0)
