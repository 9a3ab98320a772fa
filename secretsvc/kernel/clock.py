"""The clock: one reading a request, in epoch milliseconds, is the only time that its rules see."""

from __future__ import annotations

import time


def now_ms() -> int:
    """The present in epoch milliseconds."""
    return time.time_ns() // 1_000_000
