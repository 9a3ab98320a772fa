"""Who acts: a principal is what an assertion proves, an actor is a principal with an identity row."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal
from uuid import UUID

from secretsvc.kernel.display_names import WithNames

#: Who made a thing, as clients see it.
Maker = UUID | Literal["system"]


class Kind(StrEnum):
    """What an identity is; nothing in authorization branches on it."""

    USER = "user"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Principal:
    """A kind and a subject in its normal form.

    `issuer` is the `iss` of a workload issuer's token, None for the access proxy's.
    """

    kind: Kind
    subject: str
    #: Which identity it is, kind and subject say; the identity knows its issuer (contract 17.5).
    issuer: str | None = field(default=None, compare=False)

    @property
    def issuer_name(self) -> str | None:
        """What a service's subject has before its first colon; of a workload it is its issuer's name."""
        name, colon, _ = self.subject.partition(":")
        return name if colon and self.kind is Kind.SERVICE else None


@dataclass(frozen=True, slots=True)
class Actor(WithNames):
    """Whom an audit row names. The system has neither identity nor kind."""

    identity_id: UUID | None
    kind: str | None
    subject: str
    #: What people call it, None without a name of its own; it proves nothing, so it makes nobody another.
    display_name: str | None = field(default=None, compare=False)


SYSTEM = Actor(None, None, "system")


def author(identity_id: UUID | None) -> Maker:
    """Who made a row, as clients see it: an identity's id, or "system" of a row that has none."""
    return "system" if identity_id is None else identity_id
