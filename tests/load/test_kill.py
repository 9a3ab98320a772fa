"""Processes that end by `kill -9` in the middle of their work, and what their clients find afterwards."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest
from extent import amount, chance
from history import UNKNOWN, violations
from load.workload import Workload, arrange
from processes import Deployment
from waiting import slowness

KILLS = amount(10, 300)
# The writers leave the machine some room, in which the killed process can come back.
PAUSE = 0.05
#: For the quickest of all: beside the writers the machine makes some of them late.
RETURN_SECONDS = 15.0


@pytest.mark.long
def test_a_killed_process_loses_nothing_and_leaves_nothing_half_done(deployment: Deployment) -> None:
    arrange(deployment)
    generator = chance()
    returns = []
    with Workload(deployment, PAUSE) as load:
        for _ in range(KILLS):
            time.sleep(generator.uniform(0.1, 0.8))
            victim = generator.choice(deployment.processes)
            victim.kill()
            returns.append(victim.start())
        # At last all at once, so that nobody is left who had the database open.
        for process in deployment.processes:
            process.kill()
        returns += [process.start() for process in deployment.processes]
    statuses = Counter(load.statuses)
    print(f"{dict(statuses)}, back after at most {max(returns):.2f} s")
    assert min(returns) < RETURN_SECONDS * slowness()
    # Zero is no answer at all.
    assert {*statuses} <= {0, 200, 409, 412}, statuses
    history = load.history()
    assert any(one.outcome == UNKNOWN for one in history.writes), "no kill met a write"
    assert violations(history) == []
    if deployment.url.startswith("sqlite"):
        with closing(sqlite3.connect(deployment.url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
