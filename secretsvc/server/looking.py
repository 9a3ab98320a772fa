"""Checks that may hang, each in a thread of its own; readers get the last result."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

STOP_SECONDS = 1.0


class Look(Generic[T]):
    """`look` again and again, `pause` seconds after it ended; `failed` stands for what it raises.

    A `pause` may depend on what was seen.
    A look that takes longer than `limit` seconds counts as failed while it lasts. So does all before the
    first.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[], T],
        failed: T,
        *,
        pause: float | Callable[[T], float] = 2.0,
        limit: float = 5.0,
    ) -> None:
        self._name, self._look, self._failed = name, look, failed
        self._pause, self._limit = pause, limit
        self._seen, self._began = failed, 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"look-{name}", daemon=True)

    def start(self) -> None:
        """Begins; the thread ends with the process, or after `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """Has it end after the look that it is at, for which it waits a moment: it may hold a connection."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    @property
    def seen(self) -> T:
        """What was seen last. Never waits."""
        began = self._began
        hangs = began and time.monotonic() - began > self._limit
        return self._failed if hangs else self._seen

    def _run(self) -> None:
        while not self._over.is_set():
            self._began = time.monotonic()
            try:
                self._seen = self._look()
            except Exception as error:
                # The text of a database's error may hold what nobody should read here.
                log.debug("%s: %s", self._name, type(error).__qualname__)
                self._seen = self._failed
            self._began = 0.0
            self._over.wait(self._pause(self._seen) if callable(self._pause) else self._pause)
