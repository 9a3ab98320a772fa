"""Use cases of identities."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, select

from secretsvc.identity.models import identity
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.call import Call


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity as clients see it; times in epoch milliseconds."""

    id: UUID
    kind: str
    subject: str
    display_name: str | None
    disabled: bool
    created_at: int
    last_seen_at: int


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """The caller, and its role at every scope if it has one."""

    identity: Identity
    global_role: Role | None


def who_am_i(call: Call) -> WhoAmI:
    """The caller itself; open to any identity, the disabled too."""
    row = call.connection.execute(_BY_ID, {"identity_id": call.actor.identity_id}).mappings().one()
    return WhoAmI(Identity(**row), call.snapshot.global_role)


_BY_ID = select(identity).where(identity.c.id == bindparam("identity_id"))
