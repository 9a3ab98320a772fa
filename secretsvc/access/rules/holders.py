"""Who can hold a grant, as people name them: a person, a service token, or a group."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, exists, literal, or_, select, union_all

from secretsvc.authorization.rules.snapshot import not_expired
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.kernel.subjects import email_subject
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

#: The kind of a holder that is no identity.
GROUP = "group"
#: What stands behind a name to say of which kind it is, as a form suggests it.
SUFFIXES = {GROUP: " (group)", Kind.SERVICE.value: " (service token)"}
NOBODY = "Nobody has this name: no person, no service token and no group."
NOT_YET = "Nobody of this address has signed in yet. Tick the box below to give access beforehand."
SEVERAL = "Several have this name. Add “(group)” or “(service token)”, or write the slug of the group."


@dataclass(frozen=True, slots=True)
class Holder:
    """A kind of identity and its subject, or a group and its slug."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class FoundHolder(Holder):
    """One that is there; `label` is the full name of an identity, the name of a group."""

    id: UUID
    label: str

    @property
    def column(self) -> str:
        """The column of a grant that names it."""
        return "group_id" if self.kind == GROUP else "identity_id"


def find_named(call: UseCaseContext, text: str, *, groups: bool = True) -> FoundHolder | None:
    """Whoever a text names, whatever kind they are of; one statement.

    A person by the address, a service token and a group by the name, with or without what a form suggests
    behind it, a group by its slug too. Raises `ValidationFailed` where several are named.
    """
    kind, bare = named_kind(text)
    people = select(
        identity.c.kind,
        identity.c.subject.label("name"),
        identity.c.id,
        identity.c.display_name.label("label"),
    ).where(identity.c.subject.in_({text, bare, address(text)}))
    named = select(literal(GROUP).label("kind"), group.c.slug.label("name"), group.c.id, group.c.name)
    named = named.where(or_(group.c.slug == bare, group.c.name == bare))
    rows = call.connection.execute(union_all(people, named) if groups else people).all()
    found = [make_holder(*row) for row in rows]
    meant = [one for one in found if one.kind == kind] or found
    exact = [one for one in meant if bare in (one.name, address(one.name))]
    if len(meant) > 1 and len(exact) != 1:
        raise ValidationFailed.at("holder", SEVERAL)
    return next(iter(exact or meant), None)


def make_holder(kind: str, name: str, holder_id: UUID, called: str | None) -> FoundHolder:
    """A holder from its subject and display name, or from a group's slug and name."""
    label = called or name if kind == GROUP else full_name(called, name)
    return FoundHolder(kind, name, holder_id, label)


def named_kind(text: str) -> tuple[str | None, str]:
    """The kind that a text says behind the name, if any, and the name."""
    for kind, suffix in SUFFIXES.items():
        if text.endswith(suffix):
            return kind, text.removesuffix(suffix)
    return None, text


def address(text: str) -> str:
    """The text as an assertion's address is read; what no assertion can hold is nobody's as it is."""
    with suppress(ValueError):
        return email_subject(text)
    return text


def is_address(text: str) -> bool:
    """Whether a text can be the address of a person."""
    try:
        email_subject(text)
    except ValueError:
        return False
    return True


def holds_anything(identity_id: ColumnElement[object]) -> ColumnElement[bool]:
    """The condition that an identity holds an unexpired grant; its parameter is `now`."""
    direct = exists().where(grant.c.identity_id == identity_id, not_expired())
    shared = exists().where(
        group_member.c.identity_id == identity_id,
        grant.c.group_id == group_member.c.group_id,
        not_expired(),
    )
    return direct | shared
