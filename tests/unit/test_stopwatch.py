"""The database's share of a request's time."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from secretsvc.kernel.stopwatch import measured, statement_begins, statement_ends, waiting

TICK = 0.02


def test_only_the_time_of_the_database_counts_and_that_once():
    with measured() as watch:
        time.sleep(TICK)
        with waiting():
            time.sleep(TICK)
            with waiting():
                time.sleep(TICK)
            statement_begins()
            time.sleep(TICK)
            statement_ends()
        time.sleep(TICK)
        counted = watch.seconds
        assert 3 * TICK <= counted < 4 * TICK
        statement_begins()
        time.sleep(TICK)
        statement_ends()
        statement_ends()
        assert counted + TICK <= watch.seconds < counted + 2 * TICK


def test_what_fails_counts_too():
    with measured() as watch:
        with suppress(ValueError), waiting():
            time.sleep(TICK)
            raise ValueError
        assert watch.seconds >= TICK


def test_a_statement_that_never_ended_does_not_count_for_what_follows():
    with measured() as watch:
        statement_begins()
        time.sleep(TICK)
        with waiting():
            pass
        statement_ends()
        assert watch.seconds < TICK


def test_nothing_is_counted_where_nothing_is_measured_nor_for_another_thread():
    with waiting():
        statement_begins()
        statement_ends()
    with measured() as watch:
        other = threading.Thread(target=lambda: [statement_begins(), time.sleep(TICK), statement_ends()])
        other.start()
        other.join()
        assert watch.seconds == 0
