"""The last-admin guard: whatever may take an administrator away passes here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, func, select, text

from secretsvc.authorization.rules.snapshot import usable_global_admin
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.errors import LastAdmin
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.identities import identity

# Any number will do, as long as every process takes the same.
_LOCK = text("SELECT pg_advisory_xact_lock(7305809924719173479)")
_ADMIN_EXISTS = select(usable_global_admin())


@contextmanager
def last_admin_guard(call: UseCaseContext) -> Iterator[None]:
    """Around what takes a grant away, or a part of it: undoes it if no usable global admin is left.

    Two admins who remove each other would each find the other one still there: neither database's
    transactions see that by themselves. So it waits for others like it; on SQLite the writing transaction
    is the lock. Raises `LastAdmin`, unless `BOOTSTRAP_ADMINS` names somebody.
    """
    _wait_for_others(call)
    yield
    if not call.settings.bootstrap_admins and not _admin_is_left(call):
        raise LastAdmin()


@contextmanager
def last_enabled_admin_guard(call: UseCaseContext) -> Iterator[None]:
    """The same around the disabling of an identity (contract 4.13).

    Whom `BOOTSTRAP_ADMINS` names is an admin only while not disabled. Raises `LastAdmin`, unless it names
    somebody who is enabled or was not seen yet.
    """
    _wait_for_others(call)
    yield
    if not _admin_is_left(call) and not _bootstrap_admin_is_left(call):
        raise LastAdmin()


def _wait_for_others(call: UseCaseContext) -> None:
    if call.connection.dialect.name == "postgresql":
        call.connection.execute(_LOCK)


def admin_exists(connection: Connection, now: int) -> bool:
    """Whether a usable global admin exists at `now`, in epoch milliseconds."""
    return bool(connection.execute(_ADMIN_EXISTS, {"now": now}).scalar_one())


def _admin_is_left(call: UseCaseContext) -> bool:
    return admin_exists(call.connection, call.now)


def _bootstrap_admin_is_left(call: UseCaseContext) -> bool:
    subjects = call.settings.bootstrap_admins
    # It names people only (contract 3.6).
    conditions = (identity.c.kind == Kind.USER.value, identity.c.subject.in_(subjects), identity.c.disabled)
    disabled: int = call.connection.execute(select(func.count()).where(*conditions)).scalar_one()
    return disabled < len(subjects)
