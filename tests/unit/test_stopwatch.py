"""The database's share of a request's time."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from key_cache import Clock

from secretsvc.kernel.stopwatch import measured, statement_begins, statement_ends, waiting

TICK = 2.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that ticks when told to."""
    made = Clock()
    monkeypatch.setattr("secretsvc.kernel.stopwatch.perf_counter", made)
    return made


def test_only_the_time_of_the_database_counts_and_that_once(clock):
    with measured() as watch:
        clock.advance(TICK)
        with waiting():
            clock.advance(TICK)
            with waiting():
                clock.advance(TICK)
            statement_begins()
            clock.advance(TICK)
            statement_ends()
        clock.advance(TICK)
        counted = watch.seconds
        assert counted == 3 * TICK
        statement_begins()
        clock.advance(TICK)
        statement_ends()
        statement_ends()
        assert watch.seconds == counted + TICK


def test_what_fails_counts_too(clock):
    with measured() as watch:
        with suppress(ValueError), waiting():
            clock.advance(TICK)
            raise ValueError
        assert watch.seconds == TICK


def test_a_statement_that_never_ended_does_not_count_for_what_follows(clock):
    with measured() as watch:
        statement_begins()
        clock.advance(TICK)
        with waiting():
            pass
        statement_ends()
        assert watch.seconds == 0


def test_nothing_is_counted_where_nothing_is_measured_nor_for_another_thread(clock):
    with waiting():
        statement_begins()
        statement_ends()
    with measured() as watch:
        other = threading.Thread(target=lambda: [statement_begins(), clock.advance(TICK), statement_ends()])
        other.start()
        other.join()
        assert watch.seconds == 0
