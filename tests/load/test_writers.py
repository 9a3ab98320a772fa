"""Many writers of one environment through two processes: each write is there once, whole, in one order."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from extent import amount
from history import OK, Write, violations
from load.workload import KEYS, SECONDS, WRITERS, Workload, arrange, observed, write
from processes import Deployment

pytestmark = pytest.mark.long

ROUNDS = amount(30, 3_000)
RIVALS = 8


def test_the_history_of_concurrent_writers_is_one_sequence(deployment: Deployment) -> None:
    arrange(deployment)
    with Workload(deployment) as load:
        time.sleep(SECONDS)
    statuses = Counter(load.statuses)
    print(f"\n{len(load.writes)} writes, {len(load.exports)} exports, {dict(statuses)}, {load.slowest:.2f} s")
    assert {*statuses} <= {200, 409, 412}, statuses
    assert statuses[200] >= WRITERS
    history = load.history()
    assert violations(history) == []
    assert history.final.rev == sum(one.outcome == OK for one in history.writes)


def test_of_rivals_with_one_revision_exactly_one_wins_each_round(deployment: Deployment) -> None:
    arrange(deployment)
    clients = [deployment.client(number % 2) for number in range(RIVALS)]
    barrier = threading.Barrier(RIVALS)

    def compete(number: int, round_number: int) -> Write:
        barrier.wait(60)
        return write(clients[number], f"round-{round_number}-{number}", KEYS[:3], round_number)

    writes: list[Write] = []
    with ThreadPoolExecutor(RIVALS) as pool:
        for round_number in range(ROUNDS):
            made = list(pool.map(compete, range(RIVALS), [round_number] * RIVALS))
            assert Counter(one.status for one in made) == {200: 1, 412: RIVALS - 1}
            writes += made
    for client in clients:
        client.close()
    history = observed(deployment, writes, [])
    assert violations(history) == []
    assert history.final.rev == ROUNDS
