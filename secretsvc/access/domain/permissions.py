"""Use cases of what grants amount to: the effective permissions of an identity, and its groups."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from secretsvc.access.rules.explanation import Explained, GroupRef, Source, explain_grants, grant_source
from secretsvc.authorization.rules.admission import is_bootstrap_admin, with_bootstrap_grant
from secretsvc.authorization.rules.checks import assert_admin_somewhere
from secretsvc.authorization.rules.snapshot import load_standing
from secretsvc.identity.rules import IdentityRow, find_identity
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopeType, decide
from secretsvc.kernel.schema_annotations import Slug, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import group


@schema_name("EffectivePermission")
@dataclass(frozen=True, slots=True)
class PermissionEntry:
    """The effective role at one scope, None for a disabled identity."""

    scope_type: ScopeType
    project: Slug | None
    environment: Slug | None
    role: Role | None
    sources: list[Source]


@dataclass(frozen=True, slots=True)
class EffectivePermissions:
    """What an identity may do, at the scopes that the caller administers."""

    identity: IdentityRow
    items: list[PermissionEntry]


def effective_permissions(call: UseCaseContext, identity_id: UUID) -> EffectivePermissions:
    """Each scope that an unexpired grant names, with every source (specification, "Access")."""
    assert_admin_somewhere(call)
    found = find_identity(call, identity_id)
    explained, groups = _explanation(call, found)
    visible = [one for one in explained if decide(call.snapshot, one.at) is Role.ADMIN]
    return EffectivePermissions(found, [_entry(one, groups) for one in visible])


def _explanation(call: UseCaseContext, found: IdentityRow) -> tuple[list[Explained], dict[UUID, GroupRef]]:
    principal = Principal(Kind(found.kind), found.subject)
    grants = load_standing(call.connection, principal, call.now).grants
    if is_bootstrap_admin(call.settings, principal):
        grants = with_bootstrap_grant(grants)
    return explain_grants(GrantSnapshot(grants, found.disabled)), _groups(call, grants)


def _groups(call: UseCaseContext, grants: tuple[HeldGrant, ...]) -> dict[UUID, GroupRef]:
    ids = {held.group_id for held in grants if held.group_id is not None}
    if not ids:
        return {}
    rows = call.connection.execute(select(group.c.id, group.c.slug).where(group.c.id.in_(ids)))
    return {row.id: GroupRef(row.id, row.slug) for row in rows}


def _entry(explained: Explained, groups: dict[UUID, GroupRef]) -> PermissionEntry:
    at = explained.at
    sources = [grant_source(held, groups, decisive=held is explained.decisive) for held in explained.sources]
    return PermissionEntry(at.scope_type, at.project, at.environment, explained.role, sources)
