"""Why a visible scope was refused, and whom to ask: what the page of a refusal tells."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, Text, and_, bindparam, cast, func, literal, null, or_, select, union_all

from secretsvc.authorization.rules.checks import assert_sees
from secretsvc.authorization.rules.snapshot import not_expired
from secretsvc.db.types import CompoundQuery, Expression, FoundRow, Query
from secretsvc.kernel.authorization import HeldGrant, Role, ScopePath, ScopeType, decide, sees_row
from secretsvc.kernel.denial_details import AdminContact, DenialDetails
from secretsvc.kernel.display_names import short_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: How many admins are named.
NAMED = 3
SCOPE, SOURCE, HELPER = range(3)
_NOTHING: Expression = cast(null(), Text)
_NO_ID: ColumnElement[UUID | None] = cast(null(), project.c.id.type)
#: The widest scope last: who is nearest is asked first.
_ORDER = {ScopeType.ENVIRONMENT: 0, ScopeType.PROJECT: 1, ScopeType.GLOBAL: 2}


def explain_refusal(call: UseCaseContext, at: ScopePath, needed: Role) -> DenialDetails | None:
    """What stands in the way at a scope that the caller sees; None where it is gone. One statement.

    It is gone, too, where its slug changed hands since the snapshot.

    Admins are named who hold the role themselves or through a group, those of the scope itself first; whoever
    `BOOTSTRAP_ADMINS` names without a grant is not.
    """
    assert_sees(call, at)
    decisive = _decisive(call, at)
    parameters = {"now": call.now, "project": at.project, "environment": at.environment}
    rows = call.connection.execute(_statement(at, decisive), parameters).all()
    scope = next((row for row in rows if row.kind == SCOPE), None)
    if scope is None or not sees_row(call.snapshot, scope.project_id, scope.environment_id):
        return None
    source = next((row.one for row in rows if row.kind == SOURCE), None)
    found = [row for row in rows if row.kind == HELPER]
    admins = dict.fromkeys(
        AdminContact(short_name(row.two, row.one), row.one, row.three) for row in sorted(found, key=_nearest)
    )
    return DenialDetails(
        " / ".join(filter(None, (scope.one, scope.two))),
        scope.two or scope.one,
        f"/projects/{at.project}" + (f"/environments/{at.environment}" if at.environment else ""),
        needed,
        decisive.role if decisive else None,
        decisive.scope_type if decisive else None,
        source,
        [*admins][:NAMED],
    )


def _decisive(call: UseCaseContext, at: ScopePath) -> HeldGrant | None:
    role = decide(call.snapshot, at)
    held = [one for one in call.snapshot.effective_grants if one.covers(at) and one.role is role]
    return max(held, key=lambda one: _ORDER[one.scope_type], default=None)


def _nearest(row: FoundRow) -> tuple[int, str]:
    return _ORDER[ScopeType(row.three)], row.one


def _statement(at: ScopePath, decisive: HeldGrant | None) -> CompoundQuery:
    named = project.c.slug == bindparam("project", type_=Text)
    inside = environment.c.slug == bindparam("environment", type_=Text)
    if at.environment is None:
        scope = _row(SCOPE, project.c.name, project_id=project.c.id).where(named)
    else:
        ids = {"project_id": project.c.id, "environment_id": environment.c.id}
        scope = _row(SCOPE, project.c.name, environment.c.name, **ids).join_from(environment, project)
        scope = scope.where(named, inside)
    within = [grant.c.scope_type == ScopeType.GLOBAL]
    within.append(and_(grant.c.scope_type == ScopeType.PROJECT, named))
    if at.environment is not None:
        within.append(and_(grant.c.scope_type == ScopeType.ENVIRONMENT, named, inside))
    holders = (
        _row(HELPER, identity.c.subject, identity.c.display_name, grant.c.scope_type)
        .select_from(grant)
        .outerjoin(group_member, group_member.c.group_id == grant.c.group_id)
        .join(identity, identity.c.id == func.coalesce(grant.c.identity_id, group_member.c.identity_id))
        .outerjoin(project, project.c.id == grant.c.project_id)
        .outerjoin(environment, environment.c.id == grant.c.environment_id)
        .where(grant.c.role == Role.ADMIN, not_expired(), ~identity.c.disabled, or_(*within))
        .where(identity.c.kind == "user")
    )
    parts = [scope, holders]
    if decisive is not None and decisive.group_id is not None:
        parts.append(_row(SOURCE, group.c.name).where(group.c.id == decisive.group_id))
    return union_all(*parts)


def _row(
    kind: int,
    one: Expression,
    two: Expression = _NOTHING,
    three: Expression = _NOTHING,
    *,
    project_id: ColumnElement[UUID | None] = _NO_ID,
    environment_id: ColumnElement[UUID | None] = _NO_ID,
) -> Query:
    return select(
        literal(kind).label("kind"),
        one.label("one"),
        two.label("two"),
        three.label("three"),
        project_id.label("project_id"),
        environment_id.label("environment_id"),
    )
