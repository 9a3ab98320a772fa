"""Writers of one environment on PostgreSQL: in which order they have their turns, and whom they hold up."""

from __future__ import annotations

import threading

import pytest
from calls import call_of
from service import ADMIN, Service, arrange
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from waiting import PATIENCE, eventually

from secretsvc.db.engine import set_mode
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.projects.rules import lock_environment

pytestmark = pytest.mark.both_engines

PROD = ScopePath("shop", "prod")
WAITING = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")


def wait_for_waiting(service: Service, count: int) -> None:
    with service.engine.connect() as connection:
        assert eventually(lambda: connection.scalar(WAITING) >= count)


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_who_lets_go_of_an_environment_does_not_overtake_who_waits_for_it(service: Service) -> None:
    arrange(service, "shop", "prod")
    came: list[str] = []

    def have_a_turn(name: str) -> None:
        with call_of(service, ADMIN) as call:
            set_mode(call.connection, Mode.WRITE)
            lock_environment(call, PROD)
            came.append(name)
            call.connection.commit()

    waiting = [threading.Thread(target=have_a_turn, args=(name,)) for name in ("second", "third")]
    with call_of(service, ADMIN) as call:
        set_mode(call.connection, Mode.WRITE)
        lock_environment(call, PROD)
        for number, thread in enumerate(waiting):
            thread.start()
            wait_for_waiting(service, number + 1)
        call.connection.commit()
        lock_environment(call, PROD)
        came.append("first again")
        call.connection.commit()
    for thread in waiting:
        thread.join(PATIENCE)
    assert came == ["second", "third", "first again"]


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_who_writes_to_one_environment_waits_for_no_writer_of_another(service: Service) -> None:
    arrange(service, "shop", "prod", "dev")
    with call_of(service, ADMIN) as writer, call_of(service, ADMIN) as other:
        for call, at in ((writer, PROD), (other, ScopePath("shop", "dev"))):
            set_mode(call.connection, Mode.WRITE)
            # Whoever had to wait would be refused after `lock_timeout`.
            lock_environment(call, at)


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_who_writes_to_an_environment_keeps_it_as_it_is_for_all_but_who_refers_to_it(
    service: Service,
) -> None:
    arrange(service, "shop", "prod")
    with call_of(service, ADMIN) as call, service.engine.connect() as other:
        set_mode(call.connection, Mode.WRITE)
        lock_environment(call, PROD)
        other.execute(text("SELECT 1 FROM environment FOR KEY SHARE NOWAIT"))
        # As whoever protects, describes or deletes it, who does not queue.
        with pytest.raises(OperationalError):
            other.execute(text("SELECT 1 FROM environment FOR NO KEY UPDATE NOWAIT"))
