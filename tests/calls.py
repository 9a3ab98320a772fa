"""Calls as a request makes them, for tests of use cases without a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from service import ADMIN, Service
from transaction import TransactionManager

from secretsvc.authorization.rules.admission import IdentityAdmission
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.use_case import UseCaseContext


@contextmanager
def manager_of_requests() -> Iterator[TransactionManager]:
    """As pyramid_tm has one for each request; what was not committed is undone."""
    manager = TransactionManager(explicit=True)
    manager.begin()
    try:
        yield manager
    finally:
        manager.abort()


@contextmanager
def call_of(service: Service, subject: str = ADMIN, now: int | None = None) -> Iterator[UseCaseContext]:
    """A call of a person that only reads; `now` in epoch milliseconds."""
    registry = service.app.registry
    moment = now_ms() if now is None else now
    with manager_of_requests() as manager:
        admission = IdentityAdmission(registry.database.session(manager), registry.service_settings)
        person = Principal(Kind.USER, subject)
        actor, snapshot = admission.admit(person, moment, "a-test", lambda _of_token: person)
    with service.engine.connect() as connection:
        yield UseCaseContext(
            actor,
            snapshot,
            moment,
            "a-test",
            registry.service_settings,
            lambda _mode: connection,
            connection.rollback,
            registry.load_ring,
        )
