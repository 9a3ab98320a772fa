"""When a request is sent again: a write that a proxy lost, and a read of `run` that is to wait."""

from __future__ import annotations

import time

from secretsvc_client.errors import Failure

#: Seconds before each repetition of a write that was answered with 502.
PAUSES = (0.5, 1.5)
#: Seconds before a repetition that the service allows at once.
_SHORTEST_PAUSE = 0.25
_BUSY = (429, 503)


class Repeats:
    """The time that is left for repetitions, from now on; a write has its own number of them."""

    def __init__(self, wait: float) -> None:
        """`wait` is the number of seconds for which a busy service is asked again."""
        self._end = time.monotonic() + wait

    def pause(self, failure: Failure, done: int, *, is_safe_write: bool) -> float | None:
        """Return the seconds before the next repetition after `done` of them; None if there is none.

        `is_safe_write` says that the request carries an `Idempotency-Key`.
        """
        if is_safe_write and failure.status == 502:
            return PAUSES[done] if done < len(PAUSES) else None
        if failure.status not in _BUSY or failure.retry_after is None:
            return None
        seconds = max(float(failure.retry_after), _SHORTEST_PAUSE)
        return seconds if time.monotonic() + seconds <= self._end else None
