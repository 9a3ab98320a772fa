"""Periodic checks that can hang: each has a thread of its own, and readers get the last result."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

STOP_SECONDS = 1.0
#: How often a caller that waits for a result looks whether the check hangs.
POLL_SECONDS = 0.05


class PeriodicCheck(Generic[T]):
    """Run `check` again `pause` seconds after it ended; `failed` is the result of one that raises or hangs.

    A `pause` can depend on the result. A check hangs when it has reported no progress for `limit`
    seconds. The result is `failed` before the first check has ended.
    """

    def __init__(
        self,
        name: str,
        check: Callable[[], T],
        failed: T,
        *,
        pause: float | Callable[[T], float] = 2.0,
        limit: float = 5.0,
    ) -> None:
        self._name, self._check, self._failed = name, check, failed
        self._pause, self._limit = pause, limit
        self._result, self._succeeded = failed, time.monotonic()
        # Checks are numbered: those that have ended, and the one that a caller waits for.
        self._ended = self._wanted = 0
        # When the running check began or last reported progress; None between two checks.
        self._progress: float | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"check-{name}", daemon=True)

    def start(self) -> None:
        """Start the thread; it ends with the process, or after `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait a moment for a running check: it can hold a connection."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    @property
    def result(self) -> T:
        """The last result. Never waits."""
        return self._failed if self._hangs else self._result

    def check_now(self) -> T:
        """Run a check that begins after this call, and return its result.

        After twice `limit` a slow check, which still makes progress, leaves the result of the one before. The
        answer is `failed` as soon as a check hangs.
        """
        until = time.monotonic() + 2 * self._limit
        with self._changed:
            wanted = self._wanted = self._ended + (1 if self._progress is None else 2)
            self._changed.notify_all()
            while self._ended < wanted and not self._hangs and time.monotonic() <= until:
                self._changed.wait(POLL_SECONDS)
            return self.result

    def report_progress(self) -> None:
        """Report that a step of the running check has ended: the check may be slow, but does not hang."""
        self._progress = time.monotonic()

    @property
    def seconds_since_success(self) -> float:
        """Seconds since a check last ended without raising; before the first, since this was made."""
        return time.monotonic() - self._succeeded

    @property
    def _hangs(self) -> bool:
        progress = self._progress
        return progress is not None and time.monotonic() > progress + self._limit

    def _run(self) -> None:
        while not self._is_over:
            with self._changed:
                self._progress = time.monotonic()
            try:
                result = self._check()
                self._succeeded = time.monotonic()
            except Exception as error:
                # The text of a database's error can contain secrets.
                log.debug("%s: %s", self._name, type(error).__qualname__)
                result = self._failed
            pause = self._pause(result) if callable(self._pause) else self._pause
            with self._changed:
                self._result, self._progress, self._ended = result, None, self._ended + 1
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_over or self._wanted > self._ended, pause)
