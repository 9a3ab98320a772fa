"""The application's clock and its ids, set back by the demo, so that what it makes has a past."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from uuid import UUID

import uuid_utils.compat

from secretsvc.authorization import tweens
from secretsvc.devproxy.signing import Assertions

HOUR = 3_600_000
DAY = 24 * HOUR


class Clock:
    """Epoch milliseconds that only go forward, up to the present; to be entered before requests are made."""

    def __init__(self, days: int) -> None:
        self.present = time.time_ns() // 1_000_000
        self.now = self.present - days * DAY
        self._last = 0

    def __enter__(self) -> Clock:
        self._kept = tweens.now_ms, uuid_utils.compat.uuid7, Assertions.sign
        _, _, sign = self._kept

        def signed(assertions: Assertions, identity: str) -> str:
            if assertions._now != self.seconds:
                assertions._now = self.seconds
                assertions._signed.clear()
            return sign(assertions, identity)

        tweens.now_ms = lambda: self.now
        uuid_utils.compat.uuid7 = self.new_id
        # Both are put back on leaving: the checker does not know a method that is lent.
        Assertions.sign = signed  # type: ignore[method-assign]
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        tweens.now_ms, uuid_utils.compat.uuid7, Assertions.sign = self._kept  # type: ignore[method-assign]
        self.now = self.present

    def seconds(self) -> float:
        """The time in seconds, the real one after it was left."""
        return self.now / 1000 if self.now < self.present else time.time()

    def to(self, at: int) -> None:
        """Goes forward to a time, not beyond the present."""
        self.now = min(max(self.now, at), self.present - 1)

    def new_id(self) -> UUID:
        """A UUIDv7 of the clock's time, later than those before."""
        self._last = max(self._last + 1, self.now)
        return UUID(
            int=self._last << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
        )
