"""Two keys that want to be the first: one transaction wins, the other seals nothing (decision 0025)."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from calls import call_of
from rotation import NEW_KEY
from sealing_routes import adopted, kid_of, sealed_by
from service import Service
from sqlalchemy import text
from waiting import PATIENCE, eventually

from secretsvc.db.engine import set_mode
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.secrets.write.sealing import Plain, seal

pytestmark = pytest.mark.both_engines

ROUNDS = 12
WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
A_VALUE = [Plain(UUID(int=1), "A", 1, "x")]


def write(client: Any, slug: str, value: str) -> int:
    """A write to an environment of its own, so that nothing but the adoption lies between two of them."""
    path = f"/projects/shop/environments/{slug}/secrets:batch"
    return client.request("POST", path, {"mode": "merge", "set": {"A": value}}).status_int


@pytest.mark.slow
def test_of_two_first_keys_at_once_exactly_one_seals(service, admin):
    other = service.restarted(MASTER_KEY=NEW_KEY)
    clients = [(service.user(), "prod"), (other.user(), "dev")]
    winners: Counter[str] = Counter()
    barrier = threading.Barrier(2)

    def compete(client: Any, slug: str) -> list[int]:
        barrier.wait(PATIENCE)
        return [write(client, slug, value) for value in "xyz"]

    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            statuses = [*pool.map(lambda one: compete(*one), clients)]
            assert sorted(statuses) == [[200] * 3, [500] * 3]
            ((winner, may_seal),) = adopted(service)
            assert may_seal
            assert sealed_by(service) == {winner}
            winners[winner] += 1
            # Both processes go on with what they know: the next round must not rest on it.
            for table in ("secret_version", "secret", "master_key"):
                service.execute(f"DELETE FROM {table}")  # noqa: S608 - three names of tables
    assert winners.total() == ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
@pytest.mark.parametrize("kept", [True, False])
def test_who_waits_for_a_first_adoption_is_judged_by_how_it_ends(service: Service, kept: bool) -> None:
    other = service.restarted(MASTER_KEY=NEW_KEY)
    outcome: list[str] = []

    def second() -> None:
        with call_of(other) as call:
            set_mode(call.connection, Mode.WRITE)
            try:
                seal(call, A_VALUE)
                call.connection.commit()
                outcome.append("sealed")
            except ServerMisconfigured:
                call.connection.rollback()
                outcome.append("refused")

    with call_of(service) as call:
        set_mode(call.connection, Mode.WRITE)
        seal(call, A_VALUE)
        waiting = threading.Thread(target=second)
        waiting.start()
        with service.engine.connect() as connection:
            assert eventually(lambda: connection.scalar(WAITING))
        call.connection.commit() if kept else call.connection.rollback()
        waiting.join(PATIENCE)
    assert outcome == ["refused" if kept else "sealed"]
    assert adopted(service) == [(kid_of(service if kept else other), True)]
