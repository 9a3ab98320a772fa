"""The last-admin guard: whatever may take an administrator away passes here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select, text

from secretsvc.access.rules import usable_global_admin
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import LastAdmin

# Any number will do, as long as every process takes the same.
_LOCK = text("SELECT pg_advisory_xact_lock(7305809924719173479)")
_ADMIN_IS_LEFT = select(usable_global_admin())


@contextmanager
def keeping_an_admin(call: Call) -> Iterator[None]:
    """Around the removal: waits for others like it, and undoes it if no usable global admin is left.

    Two admins who remove each other would each find the other one still there: neither database's
    transactions see that by themselves. On SQLite the writing transaction is the lock. Raises `LastAdmin`,
    unless `BOOTSTRAP_ADMINS` names somebody.
    """
    if call.connection.dialect.name == "postgresql":
        call.connection.execute(_LOCK)
    yield
    if call.settings.bootstrap_admins:
        return
    if not call.connection.execute(_ADMIN_IS_LEFT, {"now": call.now}).scalar_one():
        raise LastAdmin()
