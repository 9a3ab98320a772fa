"""Who can hold a grant, as people name them: a person, a service token, or a group."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from secretsvc.kernel.actors import Kind
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.kernel.subjects import email_subject
from secretsvc.tables.grants import group
from secretsvc.tables.identities import identity

#: The kind of a holder that is no identity.
GROUP = "group"
UNKNOWN = {
    Kind.USER.value: "No person of this address has signed in yet.",
    Kind.SERVICE.value: "No service token of this name has been used yet.",
    GROUP: "There is no group of this slug.",
}


@dataclass(frozen=True, slots=True)
class Holder:
    """A kind of identity and its subject, or a group and its slug."""

    kind: str
    name: str


def find_holder(call: Call, holder: Holder) -> UUID:
    """The id of whoever bears a name. Raises `ValidationFailed` where nobody does."""
    if holder.kind == GROUP:
        statement = select(group.c.id).where(group.c.slug == holder.name)
    else:
        statement = select(identity.c.id).where(
            identity.c.kind == holder.kind, identity.c.subject == _subject(holder)
        )
    found: UUID | None = call.connection.execute(statement).scalar()
    if found is None:
        raise ValidationFailed.at("holder", UNKNOWN[holder.kind])
    return found


def _subject(holder: Holder) -> str:
    """The name as an assertion's is read; what no assertion can hold is nobody's as it is."""
    if holder.kind == Kind.USER:
        with suppress(ValueError):
            return email_subject(holder.name)
    return holder.name
