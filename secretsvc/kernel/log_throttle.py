"""Rate limits for messages of the log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from threading import Lock


class LogThrottle:
    """Let one message for each key pass in `seconds`, and count the others."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is monotonic, in seconds."""
        self._seconds, self._clock = seconds, clock
        self._passed: dict[Hashable, float] = {}
        self._suppressed: Counter[Hashable] = Counter()
        self._lock = Lock()

    def passes(self, key: Hashable) -> int | None:
        """Return None for a message to suppress, else how many were suppressed since the last one.

        Keys are kept for ever: there must be few of them.
        """
        with self._lock:
            now = self._clock()
            if now - self._passed.get(key, -self._seconds) < self._seconds:
                self._suppressed[key] += 1
                return None
            self._passed[key] = now
            return self._suppressed.pop(key, 0)
