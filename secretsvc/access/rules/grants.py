"""Grants at rest: how they are shown, narrowed, made and removed, whoever holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import IntegrityError

from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import assert_covers_ids, not_found
from secretsvc.authorization.rules.last_admin import last_admin_guard
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.statements import delete_one, insert_one, update_one
from secretsvc.db.types import Query
from secretsvc.kernel.actors import Maker, author
from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopePath, ScopeType, admin_grants
from secretsvc.kernel.errors import Conflict, Forbidden, NotFound
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.schema_annotations import RoleText, ScopeText, Slug, Time, schema_name
from secretsvc.kernel.use_case import Denial, UseCaseContext
from secretsvc.tables.grants import grant
from secretsvc.tables.projects import environment, project

#: Grants that end sooner than this, in milliseconds, wait for somebody to renew them.
SOON_MS = 7 * 86_400_000
GRANT_NOT_FOUND = "Grant not found."
SAME_GRANT = "The same grant exists already."


@schema_name("Grant")
@dataclass(frozen=True, slots=True)
class GrantRow:
    """A grant as clients see it; times in epoch milliseconds, `created_by` an identity id or "system"."""

    id: UUID
    identity_id: UUID | None
    group_id: UUID | None
    scope_type: ScopeText
    project: Slug | None
    environment: Slug | None
    project_id: UUID | None
    environment_id: UUID | None
    role: RoleText
    expires_at: Time | None
    created_at: Time
    created_by: Maker

    @property
    def action(self) -> str:
        """The subject of its audit actions."""
        return "grant" if self.group_id is None else "group.grant"


@dataclass(frozen=True, slots=True)
class Terms:
    """What is granted and where; `expires_at` in epoch milliseconds, in the past too (contract 3.6)."""

    scope: ScopePath
    role: Role
    expires_at: int | None = None


def make_grant(**columns: Any) -> GrantRow:
    """A grant from the columns of `select_grants`."""
    return GrantRow(**{**columns, "created_by": author(columns["created_by"])})


def select_grants() -> Query:
    """Every grant with the slugs of its scope."""
    return (
        select(
            grant.c.id,
            grant.c.identity_id,
            grant.c.group_id,
            grant.c.scope_type,
            project.c.slug.label("project"),
            environment.c.slug.label("environment"),
            grant.c.project_id,
            grant.c.environment_id,
            grant.c.role,
            grant.c.expires_at,
            grant.c.created_at,
            grant.c.created_by,
        )
        .select_from(grant)
        .outerjoin(project, project.c.id == grant.c.project_id)
        .outerjoin(environment, environment.c.id == grant.c.environment_id)
    )


def within_administered(call: UseCaseContext) -> ColumnElement[bool]:
    """The condition that a grant's scope is one that the caller administers (contract 3.7)."""
    # An environment's grant names its project too.
    return covered_by(admin_grants(call.snapshot), grant.c.project_id, grant.c.environment_id)


def create_grant(call: UseCaseContext, terms: Terms, **holder: UUID) -> GrantRow:
    """A grant to the holder, `identity_id` or `group_id`, which the caller has made sure of.

    Raises `Conflict` for the same holder, scope and role, expired or not.
    """
    scope = _scope_columns(call, terms.scope)
    row = {
        "id": new_id(),
        **holder,
        "scope_type": terms.scope.scope_type.value,
        **scope,
        "role": terms.role.value,
        "expires_at": terms.expires_at,
        "created_at": call.now,
        "created_by": call.actor.identity_id,
    }
    insert_one(call.connection, grant, row, Conflict(SAME_GRANT))
    slugs = {"project": terms.scope.project, "environment": terms.scope.environment}
    created = make_grant(**({"identity_id": None, "group_id": None} | row | slugs))
    _record(call, f"{created.action}.create", created, _terms(created))
    return created


def find_grant(call: UseCaseContext, grant_id: UUID, group_id: UUID | None = None) -> GrantRow:
    """A grant that the caller may remove. Raises `NotFound`, or `Forbidden` where its scope is visible.

    With `group_id`, a grant of another holder is not found either.
    """
    statement = select_grants().where(grant.c.id == grant_id)
    if group_id is not None:
        statement = statement.where(grant.c.group_id == group_id)
    row = call.connection.execute(statement).mappings().first()
    if row is None:
        call.denials.append(Denial("authz.project.admin", project_id=call.actor.identity_id, absent=True))
        raise NotFound(GRANT_NOT_FOUND)
    found = make_grant(**row)
    held = _roles_at(call.snapshot, found)
    if Role.ADMIN in held:
        return found
    call.denials.append(_denial(found))
    if held:
        raise Forbidden()
    raise NotFound(GRANT_NOT_FOUND)


def remove_grant(call: UseCaseContext, found: GrantRow) -> None:
    """Removes a grant unless the last usable global admin goes with it. Raises `LastAdmin`."""
    with last_admin_guard(call):
        delete_one(call.connection, delete(grant).where(grant.c.id == found.id), GRANT_NOT_FOUND)
    _record(call, f"{found.action}.delete", found, _terms(found))


def change_grant(
    call: UseCaseContext, changes: Mapping[str, Any], grant_id: UUID, group_id: UUID | None = None
) -> GrantRow:
    """Changes `role` and `expires_at`; what changes nothing is a no-op without a record (contract 5.10).

    Whoever raises the role or lengthens the time must be an admin at the scope by another grant. Raises as
    `find_grant` does, `Conflict` for what would equal another grant of the holder, and `LastAdmin`.
    """
    with last_admin_guard(call):
        # Read only now that no other change can come in between: whether this one raises depends on it.
        found = find_grant(call, grant_id, group_id)
        changed = replace(found, **changes)
        if changed == found:
            return found
        if _exceeds(changed, found):
            _assert_admin_without(call, found)
        _write(call, changed)
    said = {"before": _terms(found), "after": _terms(changed)}
    _record(call, f"{found.action}.update", found, said)
    return changed


def is_admin_without(call: UseCaseContext, found: GrantRow) -> bool:
    """Whether the caller would be an admin at a grant's scope without the grant."""
    return Role.ADMIN in _roles_at(call.snapshot.without(found.id), found)


def _scope_columns(call: UseCaseContext, scope: ScopePath) -> dict[str, UUID | None]:
    if scope.scope_type is ScopeType.GLOBAL:
        return {"project_id": None, "environment_id": None}
    if scope.environment is None:
        statement = select(project.c.id.label("project_id")).where(project.c.slug == scope.project)
    else:
        statement = (
            select(environment.c.project_id, environment.c.id.label("environment_id"))
            .join_from(environment, project)
            .where(project.c.slug == scope.project, environment.c.slug == scope.environment)
        )
    row = call.connection.execute(statement).mappings().first()
    if row is None:
        raise not_found(call, scope)
    assert_covers_ids(call, scope, *row.values())
    return {"environment_id": None, **row}


def _exceeds(changed: GrantRow, found: GrantRow) -> bool:
    """Whether it confers more than before, or for longer."""
    return Role(changed.role).rank > Role(found.role).rank or _end(changed) > _end(found)


def _end(granted: GrantRow) -> float:
    return math.inf if granted.expires_at is None else granted.expires_at


def _assert_admin_without(call: UseCaseContext, found: GrantRow) -> None:
    if not is_admin_without(call, found):
        call.denials.append(_denial(found))
        raise Forbidden(hint="You are an admin there by this very grant, which lets you lower or shorten it.")


def _write(call: UseCaseContext, changed: GrantRow) -> None:
    statement = update(grant).where(grant.c.id == changed.id).values(**_terms(changed))
    try:
        update_one(call.connection, statement, grant, NotFound(GRANT_NOT_FOUND))
    except IntegrityError:
        raise Conflict(SAME_GRANT) from None


def _roles_at(snapshot: GrantSnapshot, found: GrantRow) -> list[Role]:
    """The roles that the caller holds at a grant's scope."""
    return [one.role for one in snapshot.effective_grants if _covers(one, found)]


def _covers(held: HeldGrant, found: GrantRow) -> bool:
    if found.project_id is None:
        return held.scope_type is ScopeType.GLOBAL
    return held.covers_row(found.project_id, found.environment_id)


def _denial(found: GrantRow) -> Denial:
    """At the grant's scope; an environment's denial carries no project (specification, "Audit row")."""
    action = f"authz.{found.scope_type}.admin"
    if found.environment_id is not None:
        return Denial(action, environment_id=found.environment_id)
    return Denial(action, project_id=found.project_id)


def _terms(granted: GrantRow) -> dict[str, object]:
    return {"role": granted.role, "expires_at": granted.expires_at}


def _record(call: UseCaseContext, action: str, granted: GrantRow, said: Mapping[str, object]) -> None:
    record(
        call,
        action,
        project_id=granted.project_id,
        environment_id=granted.environment_id,
        detail={
            "grant_id": granted.id,
            "identity_id": granted.identity_id,
            "group_id": granted.group_id,
            "scope_type": granted.scope_type,
            **said,
        },
    )
