"""Waiting for what must come and measuring what must be quick, on a machine that may be slow or busy.

A bound of a few seconds would fail where another process has the core for that long. So a test waits for a
state with `PATIENCE`, which is no rule, and takes the best of several measurements where time is the rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds that anything may take which is to happen at all.
PATIENCE = 60.0


def eventually(true: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether it becomes true, which is asked for so many seconds."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return bool(true())
        time.sleep(0.005)
    return True


def least_seconds(
    act: Callable[[], object],
    bound: float,
    clock: Callable[[], float] = time.monotonic,
    tries: int = 10,
) -> float:
    """What it takes at best, in seconds of the clock: measured until a try is within the bound, or `tries` times.

    Whatever else runs makes a try longer, and nothing makes it shorter.
    """
    least = float("inf")
    for _ in range(tries):
        began = clock()
        act()
        least = min(least, clock() - began)
        if least < bound:
            break
    return least
