"""A storage of rate limits that a test takes away."""

from __future__ import annotations

import time

from limits.storage import MemoryStorage


class Distant(MemoryStorage):
    """A storage that is away whenever a test wants it."""

    STORAGE_SCHEME = ["distant"]
    is_away = False
    seconds = 0.0
    asked = 0

    @property
    def base_exceptions(self):
        return ConnectionError

    def incr(self, *arguments, **options):
        Distant.asked += 1
        if Distant.is_away:
            time.sleep(Distant.seconds)
            raise ConnectionError("hunter2")
        return super().incr(*arguments, **options)

    def check(self):
        if Distant.is_away:
            raise ConnectionError("hunter2")
        return True
