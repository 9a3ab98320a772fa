"""Revisions of an environment: what each write leaves of itself, and what a protected one asks for first."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import insert

from secretsvc.db.statement_batch import BoundStatement
from secretsvc.kernel.blank import is_blank
from secretsvc.kernel.errors import Issue, NotFound, ValidationFailed
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.secrets.models import revision

REVISION_NOT_FOUND = "Revision not found."
REASON_REQUIRED = Issue("reason", "Required: the environment is protected.")


def revision_statement(
    call: UseCaseContext,
    environment: EnvironmentRow,
    action: str,
    reason: str | None,
    *,
    record_id: UUID,
    copied_from: UUID | None,
) -> BoundStatement:
    """The INSERT of the revision after `environment.rev`, for the transaction of the write that makes it.

    `action` and `record_id` are those of the audit record. Whoever took the revision is the only one to have
    it, and nothing reads it here.
    """
    return _INSERT, {
        "environment_id": environment.id,
        "rev": environment.rev + 1,
        "action": action,
        "reason": reason,
        "created_at": call.now,
        "created_by": call.actor.identity_id,
        "record_id": record_id,
        "copied_from": copied_from,
    }


def require_revision(environment: EnvironmentRow, rev: int) -> None:
    """Passes for a revision that the environment has reached; 0 is empty. Raises `NotFound`."""
    if rev > environment.rev:
        raise NotFound(REVISION_NOT_FOUND)


def lacks_reason(environment: EnvironmentRow, reason: str | None) -> bool:
    """Whether the environment is protected, and the reason for a write to it is missing or blank."""
    return environment.protected and is_blank(reason or "")


def require_reason(environment: EnvironmentRow, reason: str | None) -> None:
    """Refuses a write to a protected environment without a reason (contract 5.13).

    Raises `ValidationFailed` at `reason`.
    """
    if lacks_reason(environment, reason):
        raise ValidationFailed(issues=(REASON_REQUIRED,))


_INSERT = insert(revision)
