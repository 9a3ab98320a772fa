"""Who was denied and holds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, cast, func, select

from secretsvc.access.rules.holders import holds_anything
from secretsvc.audit.models import denial_tally
from secretsvc.audit.rules.narrowing import auditable_denials
from secretsvc.authorization.rules.asserting import assert_admin_somewhere
from secretsvc.kernel.call import Call
from secretsvc.kernel.described import KindText, Ordinal, Subject, Time
from secretsvc.tables.identities import identity


@dataclass(frozen=True, slots=True)
class UnknownIdentity:
    """A subject that was denied and holds no unexpired grant; times in epoch milliseconds."""

    subject: Subject
    kind: KindText
    denials: Ordinal
    first_denied_at: Time
    last_denied_at: Time


def unknown_identities(call: Call) -> list[UnknownIdentity]:
    """Who was denied without holding anything, the latest first (contract 3.7)."""
    assert_admin_somewhere(call)
    counted, last = denial_tally.c, func.max(denial_tally.c.last_denied_at)
    statement = (
        select(
            identity.c.subject,
            identity.c.kind,
            # PostgreSQL makes a decimal of it, which no client expects.
            cast(func.sum(counted.denials), BigInteger).label("denials"),
            func.min(counted.first_denied_at).label("first_denied_at"),
            last.label("last_denied_at"),
        )
        .join_from(denial_tally, identity, identity.c.id == counted.identity_id)
        .where(auditable_denials(call), ~holds_anything(counted.identity_id))
        .group_by(counted.identity_id, identity.c.kind, identity.c.subject)
        .order_by(last.desc(), identity.c.subject)
    )
    rows = call.connection.execute(statement, {"now": call.now}).mappings()
    return [UnknownIdentity(**found) for found in rows]
