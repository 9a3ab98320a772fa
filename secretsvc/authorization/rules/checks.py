"""The assertions that use cases begin with, and the refusals that hide what is not visible."""

from __future__ import annotations

from typing import NoReturn
from uuid import UUID

from secretsvc.authorization.rules.denial_lookup import record_denial
from secretsvc.kernel.authorization import (
    Role,
    ScopePath,
    admin_grants,
    can_see,
    decide,
    decide_row,
    holds,
    sees_project,
)
from secretsvc.kernel.errors import Forbidden, NotFound
from secretsvc.kernel.use_case import UseCaseContext

PROJECT_NOT_FOUND = "Project not found."
ENVIRONMENT_NOT_FOUND = "Environment not found."


def assert_can(call: UseCaseContext, role: Role, at: ScopePath) -> None:
    """Passes when the caller holds the role at the address.

    Raises `Forbidden` where the thing is visible and `NotFound` where it is not; both are noted as a
    denial (specification, "Authorization resolution" 11; contract 3.10).
    """
    if not holds(call.snapshot, role, at):
        _refuse(call, role, at)


def assert_sees(call: UseCaseContext, at: ScopePath) -> None:
    """Passes when the project at the address is visible to the caller (contract 4.1)."""
    if not can_see(call.snapshot, at):
        _refuse(call, Role.READER, at)


def assert_admin_somewhere(call: UseCaseContext) -> None:
    """Passes when the caller is an admin at any scope; a failure is `authz.global.admin` (contract 3.10)."""
    if next(admin_grants(call.snapshot), None) is None:
        _refuse(call, Role.ADMIN, ScopePath())


def assert_covers_ids(
    call: UseCaseContext, at: ScopePath, project_id: UUID, environment_id: UUID | None = None
) -> None:
    """Pass if the caller's role on the rows is the one it was judged by at their slugs. Raises `NotFound`.

    A slug can change hands between the snapshot and the load. The caller may have a lesser role on the new
    owner, which is not enough: whatever was asserted, was asserted of the slug.
    """
    held = decide_row(call.snapshot, project_id, environment_id)
    judged = decide(call.snapshot, at)
    if held is None or (judged is not None and not held.implies(judged)):
        raise NotFound(PROJECT_NOT_FOUND if environment_id is None else ENVIRONMENT_NOT_FOUND)


def not_found(call: UseCaseContext, at: ScopePath) -> NotFound:
    """The answer for the absent and the invisible: it tells no more than what the caller sees anyway."""
    inside = at.environment is not None and sees_project(call.snapshot, at.project or "")
    return NotFound(ENVIRONMENT_NOT_FOUND if inside else PROJECT_NOT_FOUND)


def _refuse(call: UseCaseContext, role: Role, at: ScopePath) -> NoReturn:
    """Notes the denial and raises. Absent and invisible take the same work (decision 0024)."""
    visible = can_see(call.snapshot, at)
    exists_there = record_denial(call, f"authz.{at.scope_type}.{role}", at)
    if visible and exists_there:
        raise Forbidden()
    raise not_found(call, at)
