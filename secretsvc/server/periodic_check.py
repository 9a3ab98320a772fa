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
#: So often whoever waits for a look asks what was heard of it.
STEP_SECONDS = 0.05


class PeriodicCheck(Generic[T]):
    """`look` again and again, `pause` seconds after it ended; `failed` stands for what it raises.

    A `pause` may depend on what was seen.
    A look of which nothing was heard for `limit` seconds counts as failed while it lasts. So does all before
    the first.
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
        # When the look began that saw this, when one was last asked for, and when one last came to its end.
        self._seen_of, self._asked, self._succeeded = 0.0, 0.0, time.monotonic()
        # When the last of its steps began that came to its end, and when that was.
        self._heard_of, self._heard = 0.0, 0.0
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"look-{name}", daemon=True)

    def start(self) -> None:
        """Begins; the thread ends with the process, or after `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """Has it end after the look that it is at, for which it waits a moment: it may hold a connection."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    @property
    def seen(self) -> T:
        """What was seen last. Never waits."""
        return self._failed if self._hangs else self._seen

    def check_now(self) -> T:
        """What a look sees that begins after the question; waits for it for `limit` seconds.

        Where the look takes longer, but a step of it that began after the question has ended, the answer is
        what the last whole look saw; that takes twice `limit` at most. While a look hangs nobody waits: the
        answer is `failed`.
        """
        with self._changed:
            self._asked = asked = time.monotonic()
            self._changed.notify_all()
            while not (self._is_told(asked) or self._hangs or _is_over(asked, 2 * self._limit)):
                self._changed.wait(STEP_SECONDS)
            return self._seen if max(self._seen_of, self._heard_of) >= asked else self._failed

    def heard(self, began: float) -> None:
        """A step of the look under way, which began then, has ended: it is slow, and does not hang."""
        self._heard_of, self._heard = began, time.monotonic()

    @property
    def seconds_since_success(self) -> float:
        """Since a look last ended without raising; at first, since this was made."""
        return time.monotonic() - self._succeeded

    def _is_told(self, asked: float) -> bool:
        """Whether a question that was asked then has its answer."""
        return self._seen_of >= asked or (self._heard_of >= asked and _is_over(asked, self._limit))

    @property
    def _hangs(self) -> bool:
        began = self._began
        return bool(began) and _is_over(max(began, self._heard), self._limit)

    def _run(self) -> None:
        while not self._is_over:
            self._began = began = time.monotonic()
            try:
                seen = self._look()
                self._succeeded = time.monotonic()
            except Exception as error:
                # The text of a database's error may hold what nobody should read here.
                log.debug("%s: %s", self._name, type(error).__qualname__)
                seen = self._failed
            pause = self._pause(seen) if callable(self._pause) else self._pause
            with self._changed:
                self._seen, self._seen_of, self._began = seen, began, 0.0
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_over or self._asked > self._seen_of, pause)


def _is_over(began: float, seconds: float) -> bool:
    return time.monotonic() > began + seconds
