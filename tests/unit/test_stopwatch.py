"""The database's share of a request's time."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from key_cache import Clock
from sqlalchemy import event, func, select, text
from sqlalchemy.exc import DBAPIError

from secretsvc.db.engine import make_engine
from secretsvc.db.fast.prepared import Prepared
from secretsvc.kernel.database_timer import database_time, time_database

TICK = 2.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that ticks when told to."""
    made = Clock()
    monkeypatch.setattr("secretsvc.kernel.database_timer.perf_counter", made)
    return made


def test_only_the_time_of_the_database_counts_and_that_once(clock):
    with time_database() as watch:
        clock.advance(TICK)
        with database_time():
            clock.advance(TICK)
            with database_time():
                clock.advance(TICK)
            clock.advance(TICK)
        clock.advance(TICK)
        assert watch.seconds == 3 * TICK
        with database_time():
            clock.advance(TICK)
        assert watch.seconds == 4 * TICK


def test_what_fails_counts_too(clock):
    with time_database() as watch:
        with suppress(ValueError), database_time():
            clock.advance(TICK)
            raise ValueError
        assert watch.seconds == TICK


def test_nothing_is_counted_where_nothing_is_measured_nor_for_another_thread(clock):
    def wait():
        with database_time():
            clock.advance(TICK)

    wait()
    with time_database() as watch:
        other = threading.Thread(target=wait)
        other.start()
        other.join()
        assert watch.seconds == 0


@pytest.mark.parametrize("failing", ["", ", abs(-9223372036854775808)"])
def test_what_sqlalchemy_executes_by_itself_counts_also_where_it_fails(tmp_path, clock, failing):
    def wait():
        clock.advance(TICK)

    engine = make_engine(f"sqlite:///{tmp_path / 'some.db'}")
    event.listen(engine, "connect", lambda made, _: made.create_function("wait", 0, wait))
    with time_database() as watch, engine.connect() as connection, suppress(DBAPIError):
        connection.execute(text(f"SELECT wait(){failing}")).all()
    engine.dispose()
    assert watch.seconds == TICK


def test_what_the_fast_path_executes_counts(tmp_path, clock):
    def wait():
        clock.advance(TICK)

    engine = make_engine(f"sqlite:///{tmp_path / 'some.db'}")
    event.listen(engine, "connect", lambda made, _: made.create_function("wait", 0, wait))
    with time_database() as watch, engine.connect() as connection:
        Prepared(select(func.wait().label("waited"))).rows(connection, {})
    engine.dispose()
    assert watch.seconds == TICK
