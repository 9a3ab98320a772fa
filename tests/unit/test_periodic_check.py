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
        self.check = PeriodicCheck("slow", self._check, FAILED, pause=0.01, limit=LIMIT)
        self.pool = ThreadPoolExecutor(1)
        self._begun, self._ends = threading.Semaphore(0), threading.Semaphore(0)

    def _check(self) -> str:
        while self.is_slow:
            self._begun.release()
            self._ends.acquire(timeout=PATIENCE)
            self.check.report_progress()
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
        before = self.check._wanted
        answer = self.pool.submit(self.check.check_now)
        assert eventually(lambda: self.check._wanted > before or answer.done())
        return answer

    def end(self) -> None:
        self.is_slow = False
        self._ends.release()
        self.check.stop()
        self.pool.shutdown()


@pytest.fixture
def slow(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    monkeypatch.setattr(periodic_check, "time", SimpleNamespace(monotonic=clock))
    made = Slow(clock)
    made.check.start()
    assert eventually(lambda: made.check.result == SEEN)
    yield made
    made.end()


def test_a_slow_check_that_makes_progress_leaves_the_result_of_the_one_before(slow: Slow) -> None:
    slow.is_slow = True
    slow.wait_for_a_step()
    answer = slow.ask()
    for _ in range(4):
        slow.end_step_after(0.45 * LIMIT)
    with pytest.raises(TimeoutError):
        answer.result(0.2)
    slow.end_step_after(0.45 * LIMIT)
    assert answer.result(PATIENCE) == SEEN
    assert slow.check.result == SEEN


def test_a_check_without_progress_has_failed_and_nobody_waits_for_it_twice(slow: Slow) -> None:
    slow.is_slow = True
    slow.wait_for_a_step()
    answer = slow.ask()
    assert slow.check.result == SEEN
    slow.clock.advance(LIMIT + 0.1)
    assert answer.result(PATIENCE) == FAILED
    # The clock stands still: a question that had to wait would get no answer.
    assert slow.ask().result(PATIENCE) == FAILED
    assert slow.check.result == FAILED


def test_a_check_that_began_before_the_question_does_not_answer_it(slow: Slow) -> None:
    slow.is_slow = True
    slow.wait_for_a_step()
    answer = slow.ask()
    ended = slow.check._ended
    slow.is_slow = False
    slow._ends.release()
    assert answer.result(PATIENCE) == SEEN
    assert slow.check._ended >= ended + 2
