"""How long a caller waits for a check that is slow, and for one that hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from key_cache import Clock
from waiting import PATIENCE, eventually

from secretsvc.server import periodic_check
from secretsvc.server.periodic_check import PeriodicCheck

LIMIT = 2.0
FAILED, SEEN = "failed", "seen"


class Slow:
    """A check that is quick until `is_slow`; from then on it has steps, each of which a test ends."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.is_slow = clock, False
        self.look = PeriodicCheck("slow", self._look, FAILED, pause=0.01, limit=LIMIT)
        self.pool = ThreadPoolExecutor(1)
        self._begun, self._ends = threading.Semaphore(0), threading.Semaphore(0)

    def _look(self) -> str:
        while self.is_slow:
            began = self.clock.now
            self._begun.release()
            self._ends.acquire(timeout=PATIENCE)
            self.look.heard(began)
        return SEEN

    def wait_for_a_step(self) -> None:
        """Returns once the next step has begun."""
        assert self._begun.acquire(timeout=PATIENCE)

    def end_step_after(self, seconds: float) -> None:
        """Lets the step take so many seconds, and waits for the next one to begin."""
        self.clock.advance(seconds)
        self._ends.release()
        self.wait_for_a_step()

    def ask(self) -> Future[str]:
        """A question that has been put and may not be answered yet."""
        self.clock.advance(0.01)
        answer = self.pool.submit(self.look.check_now)
        assert eventually(lambda: self.look._asked == self.clock.now)
        return answer

    def end(self) -> None:
        self.is_slow = False
        self._ends.release()
        self.look.stop()
        self.pool.shutdown()


@pytest.fixture
def slow(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    monkeypatch.setattr(periodic_check, "time", SimpleNamespace(monotonic=clock))
    made = Slow(clock)
    made.look.start()
    assert eventually(lambda: made.look.seen == SEEN)
    yield made
    made.end()


def test_while_each_step_is_heard_in_time_the_last_whole_look_holds_however_long_this_one_takes(
    slow: Slow,
) -> None:
    slow.is_slow = True
    slow.wait_for_a_step()
    for _ in range(2):
        answer = slow.ask()
        # The step under way began before the question. The next one answers it once the limit has passed.
        slow.end_step_after(0.4 * LIMIT)
        slow.end_step_after(0.4 * LIMIT)
        with pytest.raises(TimeoutError):
            answer.result(0.2)
        slow.end_step_after(0.4 * LIMIT)
        assert answer.result(PATIENCE) == SEEN
        assert slow.look.seen == SEEN


def test_while_nothing_is_heard_of_a_step_it_has_failed_and_nobody_waits_for_it_twice(slow: Slow) -> None:
    slow.is_slow = True
    slow.wait_for_a_step()
    answer = slow.ask()
    assert slow.look.seen == SEEN
    slow.clock.advance(LIMIT)
    assert answer.result(PATIENCE) == FAILED
    # The clock stands still: a question that had to wait would get no answer.
    assert slow.ask().result(PATIENCE) == FAILED
    assert slow.look.seen == FAILED
