"""Which audit rows a caller may read: the narrowing that every query of them starts from."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, select

from secretsvc.audit.models import REFUSALS, denial_tally
from secretsvc.kernel.authorization import ScopeType, admin_grants
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.projects import environment


@dataclass(frozen=True, slots=True)
class AuditScope:
    """Rows of these projects and these environments, or every row."""

    everything: bool = False
    projects: frozenset[UUID] = frozenset()
    environments: frozenset[UUID] = frozenset()


def audit_scope(call: UseCaseContext) -> AuditScope:
    """All that the caller may audit (specification, "Audit"); one statement for project admins.

    A project's rows are those that carry it and those that carry one of its environments.
    """
    held = list(admin_grants(call.snapshot))
    if any(one.scope_type is ScopeType.GLOBAL for one in held):
        return AuditScope(everything=True)
    projects = {one.project_id for one in held if one.scope_type is ScopeType.PROJECT and one.project_id}
    environments = {one.environment_id for one in held if one.environment_id}
    return AuditScope(False, frozenset(projects), environment_ids(call, projects) | environments)


def environment_ids(call: UseCaseContext, projects: set[UUID]) -> frozenset[UUID]:
    """The ids of the environments of some projects."""
    if not projects:
        return frozenset()
    statement = select(environment.c.id).where(environment.c.project_id.in_(projects))
    return frozenset(call.connection.execute(statement).scalars())


def auditable_denials(call: UseCaseContext) -> ColumnElement[bool]:
    """The condition that the caller may audit what a row of the tally of denials counts."""
    reach = audit_scope(call)
    if reach.everything:
        return denial_tally.c.scope_id != REFUSALS
    return denial_tally.c.scope_id.in_(reach.projects | reach.environments)
