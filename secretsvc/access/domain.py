"""Use cases of access: grants of identities, what they amount to, and who asked in vain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, cast, exists, func, select

from secretsvc.access.admission import is_listed, with_listing
from secretsvc.access.explanation import Explained, GroupRef, Source, explain, source_of
from secretsvc.access.grants import (
    Grant,
    Terms,
    change_grant,
    create_grant,
    find_grant,
    make_grant,
    remove_grant,
    select_grants,
    within_administered,
)
from secretsvc.access.models import grant, group, group_member
from secretsvc.access.rules import assert_admin_somewhere, assert_can, is_live, load_standing
from secretsvc.audit.models import denial_tally
from secretsvc.audit.narrowing import auditable_denials
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.identity.directory import Identity, find_identity
from secretsvc.identity.models import identity
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopeType, decide
from secretsvc.kernel.call import Call


@dataclass(frozen=True, slots=True)
class Entry:
    """The effective role at one scope, None for a disabled identity."""

    scope_type: ScopeType
    project: str | None
    environment: str | None
    role: Role | None
    sources: list[Source]


@dataclass(frozen=True, slots=True)
class EffectivePermissions:
    """What an identity may do, at the scopes that the caller administers."""

    identity: Identity
    items: list[Entry]


@dataclass(frozen=True, slots=True)
class UnknownIdentity:
    """A subject that was denied and holds no live grant; times in epoch milliseconds."""

    subject: str
    kind: str
    denials: int
    first_denied_at: int
    last_denied_at: int


def list_grants(call: Call, window: Window) -> Page[Grant]:
    """The grants at scopes that the caller administers, oldest first."""
    assert_admin_somewhere(call)
    statement = select_grants().where(within_administered(call))
    return page_of(call.connection, statement, grant.c.id, window, make_grant)


def grant_to_identity(call: Call, identity_id: UUID, terms: Terms) -> Grant:
    """Grants a role to an identity. Raises `NotFound` for an identity that is not there, `Conflict`."""
    assert_can(call, Role.ADMIN, terms.scope)
    find_identity(call, identity_id)
    return create_grant(call, terms, identity_id=identity_id)


def update_grant(call: Call, grant_id: UUID, changes: Mapping[str, Any]) -> Grant:
    """Changes a grant of an identity or of a group (contract 5.10).

    Raises `NotFound`, `Forbidden`, `Conflict`, `LastAdmin`.
    """
    assert_admin_somewhere(call)
    return change_grant(call, changes, grant_id)


def delete_grant(call: Call, grant_id: UUID) -> None:
    """Removes a grant of an identity or of a group (contract 4.8). Raises `NotFound`, `LastAdmin`."""
    assert_admin_somewhere(call)
    remove_grant(call, find_grant(call, grant_id))


def effective_permissions(call: Call, identity_id: UUID) -> EffectivePermissions:
    """Each scope that a live grant names, with every source (specification, "Access")."""
    assert_admin_somewhere(call)
    found = find_identity(call, identity_id)
    explained, groups = _explanation(call, found)
    visible = [one for one in explained if decide(call.snapshot, one.at) is Role.ADMIN]
    return EffectivePermissions(found, [_entry(one, groups) for one in visible])


def own_permissions(call: Call) -> EffectivePermissions:
    """The same of the caller itself, at every scope; open to any identity, the disabled too."""
    found = find_identity(call, call.actor.identity_id)
    explained, groups = _explanation(call, found)
    return EffectivePermissions(found, [_entry(one, groups) for one in explained])


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
        .where(auditable_denials(call), ~_holds_anything(counted.identity_id))
        .group_by(counted.identity_id, identity.c.kind, identity.c.subject)
        .order_by(last.desc(), identity.c.subject)
    )
    rows = call.connection.execute(statement, {"now": call.now}).mappings()
    return [UnknownIdentity(**found) for found in rows]


def _holds_anything(identity_id: Any) -> Any:
    direct = exists().where(grant.c.identity_id == identity_id, is_live())
    shared = exists().where(
        group_member.c.identity_id == identity_id,
        grant.c.group_id == group_member.c.group_id,
        is_live(),
    )
    return direct | shared


def _explanation(call: Call, found: Identity) -> tuple[list[Explained], dict[UUID, GroupRef]]:
    principal = Principal(Kind(found.kind), found.subject)
    grants = load_standing(call.connection, principal, call.now).grants
    if is_listed(call.settings, principal):
        grants = with_listing(grants)
    return explain(GrantSnapshot(grants, found.disabled)), _groups(call, grants)


def _groups(call: Call, grants: tuple[HeldGrant, ...]) -> dict[UUID, GroupRef]:
    ids = {held.group_id for held in grants if held.group_id is not None}
    if not ids:
        return {}
    rows = call.connection.execute(select(group.c.id, group.c.slug).where(group.c.id.in_(ids)))
    return {row.id: GroupRef(row.id, row.slug) for row in rows}


def _entry(explained: Explained, groups: dict[UUID, GroupRef]) -> Entry:
    at = explained.at
    sources = [source_of(held, groups, decisive=held is explained.decisive) for held in explained.sources]
    return Entry(at.scope_type, at.project, at.environment, explained.role, sources)
