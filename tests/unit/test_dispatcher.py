"""Which thread serves a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import PATIENCE, eventually

from secretsvc.server.dispatcher import Dispatcher

THREADS = 3


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    made = Dispatcher()
    made.set_thread_count(THREADS)
    assert eventually(lambda: made.active_count == 0)
    yield made
    made.shutdown(timeout=PATIENCE)
    assert not made.threads


def task(work: Callable[[], object]) -> Any:
    return SimpleNamespace(service=work, cancel=lambda: None)


def test_one_request_after_the_other_is_served_by_the_same_thread(dispatcher):
    found: list[int] = []
    for number in range(2 * THREADS):
        dispatcher.add_task(task(lambda: found.append(threading.get_ident())))
        assert eventually(lambda: len(found) > number and dispatcher.active_count == 0)  # noqa: B023 - at once
    assert len(set(found)) == 1


def test_requests_at_once_have_threads_of_their_own_and_further_ones_wait(dispatcher):
    gate, done = threading.Event(), []
    for _ in range(THREADS):
        dispatcher.add_task(task(lambda: gate.wait(PATIENCE)))
    assert eventually(lambda: dispatcher.active_count == THREADS)
    dispatcher.add_task(task(lambda: done.append(True)))
    assert len(dispatcher.queue) == 1
    gate.set()
    assert eventually(lambda: done == [True])


def test_a_request_that_fails_takes_no_thread_with_it(dispatcher, caplog):
    served: list[bool] = []
    for _ in range(THREADS):
        dispatcher.add_task(task(lambda: 1 / 0))
    dispatcher.add_task(task(lambda: served.append(True)))
    assert eventually(lambda: served == [True])
    # Another thread can serve the last task before each failure is logged.
    assert eventually(lambda: caplog.text.count("a thread failed outside of a request") == THREADS)
    assert "ZeroDivisionError" in caplog.text
