"""Whoever asks waits for a look that is slow, and not for one that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from waiting import eventually

from secretsvc.server.looking import Look

LIMIT = 2.0
#: All of them take longer than the limit, and one much shorter, also where others have the core for a second.
STEP = 0.5
STEPS = 8
FAILED, SEEN = "failed", "seen"


class Slow:
    """A look that is quick until `is_slow`: then it has steps, which are heard, or one that hangs."""

    def __init__(self) -> None:
        self.is_slow = False
        self.hangs = threading.Event()
        self.at_a_step = threading.Event()
        self.over = threading.Event()
        self.look = Look("slow", self._look, FAILED, pause=0.01, limit=LIMIT)

    def _look(self) -> str:
        for _ in range(STEPS if self.is_slow else 0):
            began = time.monotonic()
            self.at_a_step.set()
            self.over.wait(60 if self.hangs.is_set() else STEP)
            self.look.heard(began)
        return SEEN


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    made.look.start()
    assert eventually(lambda: made.look.seen == SEEN)
    yield made
    made.over.set()
    made.look.stop()


def test_while_each_step_is_heard_in_time_the_last_whole_look_holds_however_long_this_one_takes(
    slow: Slow,
) -> None:
    slow.is_slow = True
    for _ in range(2):
        slow.at_a_step.clear()
        assert slow.at_a_step.wait(60)
        # The step under way began before the question: the next one answers it.
        began = time.monotonic()
        assert slow.look.look_now() == SEEN
        assert time.monotonic() - began >= LIMIT
        assert slow.look.seen == SEEN


def test_while_nothing_is_heard_of_a_step_it_has_failed_and_nobody_waits_for_it_twice(slow: Slow) -> None:
    slow.is_slow = True
    slow.hangs.set()
    assert slow.at_a_step.wait(60)
    assert slow.look.look_now() == FAILED
    began = time.monotonic()
    assert slow.look.look_now() == FAILED
    assert time.monotonic() - began < LIMIT / 2
    assert slow.look.seen == FAILED
