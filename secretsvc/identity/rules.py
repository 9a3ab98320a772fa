"""Identities as clients see them, and the way to find one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from uuid import UUID

from sqlalchemy import bindparam, func, select

from secretsvc.kernel.display_names import WithNames, folded
from secretsvc.kernel.errors import NotFound, ValidationFailed
from secretsvc.kernel.fingerprints import fingerprint
from secretsvc.kernel.schema_annotations import KindText, Name, Subject, Time, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.identities import identity

IDENTITY_NOT_FOUND = "Identity not found."


@schema_name("Identity")
@dataclass(frozen=True, slots=True)
class IdentityRow(WithNames):
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


def find_identity(call: UseCaseContext, identity_id: UUID | None) -> IdentityRow:
    """One identity; None is nobody's. Raises `NotFound`; who may ask is the use case's affair."""
    row = call.connection.execute(_BY_ID, {"identity_id": identity_id}).mappings().first()
    if row is None:
        raise NotFound(IDENTITY_NOT_FOUND)
    return IdentityRow(**row)


def check_display_name(call: UseCaseContext, name: object, subject: str) -> None:
    """Refuse a name that is another identity's subject, in capitals or not (contract 17.1).

    Callers can list identities, so the refusal tells them nothing new. A subject that comes later is not
    compared with names: pages show the subject next to each name. Raises `ValidationFailed`.
    """
    if not isinstance(name, str) or name == subject:
        return
    sought = folded(name)
    # Not in the database: SQLite folds ASCII alone. A folded text is up to 3 times as long, never shorter.
    parameters = {"shortest": -(-len(sought) // 3), "longest": len(sought), "own": subject}
    for other in call.connection.execute(_SUBJECTS, parameters).scalars():
        if other.casefold() == sought:
            raise ValidationFailed.at("display_name", "Must not be the subject of another identity.")


_SUBJECTS = select(identity.c.subject).where(
    func.length(identity.c.subject).between(bindparam("shortest"), bindparam("longest")),
    ~identity.c.subject.contains("@"),
    identity.c.subject != bindparam("own"),
)
#: The columns of the table that clients see.
COLUMNS = [identity.c[one.name] for one in fields(IdentityRow)]
_BY_ID = select(*COLUMNS).where(identity.c.id == bindparam("identity_id"))
