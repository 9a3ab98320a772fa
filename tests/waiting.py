"""Waiting for what must come and measuring what must be quick, on a machine that may be slow or busy.

A bound of a few seconds would fail where another process has the core for that long. So a test waits for a
state with `PATIENCE`, which is no rule, and takes the best of several measurements where time is the rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds that anything may take which is to happen at all.
PATIENCE = 60.0
#: What `_work` takes on the machine for which bounds of CPU time are written, in seconds.
USUAL_WORK = 0.0055


def eventually(true: Callable[[], object], seconds: float = PATIENCE, pause: float = 0.005) -> bool:
    """Whether it becomes true, which is asked for so many seconds, with a pause after each time."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return bool(true())
        time.sleep(pause)
    return True


def least_seconds(
    act: Callable[[], object],
    bound: float,
    clock: Callable[[], float] = time.monotonic,
    tries: int = 10,
) -> float:
    """What it takes at best, by a clock of seconds: of the tries up to the first within the bound.

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


def slowness() -> float:
    """How many times as long as on the usual machine work takes on this one now; 1 where it takes less."""
    return max(1.0, least_seconds(_work, USUAL_WORK, time.thread_time) / USUAL_WORK)


def _work() -> int:
    found = {f"K{number}": number * number for number in range(20_000)}
    return sum(found.values())
