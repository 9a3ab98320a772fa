"""Identities as clients see them, and the way to find one."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

from sqlalchemy import bindparam, select

from secretsvc.kernel.call import Call
from secretsvc.kernel.described import KindText, Name, Subject, Time
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.fingerprints import fingerprint
from secretsvc.kernel.structs import struct
from secretsvc.tables.identities import identity

IDENTITY_NOT_FOUND = "Identity not found."


@struct
class Identity:
    """An identity; times in epoch milliseconds, `last_seen_at` None until the first visit."""

    id: UUID
    kind: KindText
    subject: Subject
    display_name: Name | None
    disabled: bool
    created_at: Time
    last_seen_at: Time | None

    @property
    def fingerprint(self) -> str:
        """Of what the form of its name changes."""
        return fingerprint([self.display_name])


def find_identity(call: Call, identity_id: UUID | None) -> Identity:
    """One identity; None is nobody's. Raises `NotFound`; who may ask is the use case's affair."""
    row = call.connection.execute(_BY_ID, {"identity_id": identity_id}).mappings().first()
    if row is None:
        raise NotFound(IDENTITY_NOT_FOUND)
    return Identity(**row)


#: The columns of the table that clients see.
COLUMNS = [identity.c[one.name] for one in fields(Identity)]
_BY_ID = select(*COLUMNS).where(identity.c.id == bindparam("identity_id"))
