"""Requests to an SQLite database take turns, and none waits for one that takes long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from transaction import TransactionManager
from transaction.interfaces import NoTransaction
from waiting import PATIENCE

from secretsvc.db import sqlite_queue as module
from secretsvc.db.engine import make_engine
from secretsvc.db.session import Session
from secretsvc.db.sqlite_queue import SqliteQueue
from secretsvc.kernel.transaction_mode import Mode


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_the_next_one_waits_until_the_turn_is_given_back(pool, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", PATIENCE)
    turn = SqliteQueue()
    end = turn.take()
    following = pool.submit(turn.take)
    with pytest.raises(TimeoutError):
        following.result(0.05)
    end()
    following.result(PATIENCE)()


def test_who_has_it_for_long_is_passed_and_the_others_go_on_taking_turns(pool, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.02)
    turn = SqliteQueue()
    end_late = turn.take()
    end = pool.submit(turn.take).result(PATIENCE)
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", PATIENCE)
    third = pool.submit(turn.take)
    end_late()
    with pytest.raises(TimeoutError):
        third.result(0.05)
    end()
    third.result(PATIENCE)()


def test_a_session_that_no_transaction_ends_keeps_neither_a_connection_nor_its_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", PATIENCE)
    engine, turn = make_engine(f"sqlite:///{tmp_path}/t.sqlite"), SqliteQueue()
    session = Session(engine, TransactionManager(explicit=True), turn)
    with pytest.raises(NoTransaction):
        session.connection(Mode.READ)
    assert engine.pool.checkedout() == 0
    turn.take()()
    engine.dispose()
