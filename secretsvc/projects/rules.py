"""What use cases of any package need of projects and environments: to find them by their address."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, bindparam, func, select, true

from secretsvc.authorization.rules.checks import assert_covers_ids, not_found
from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.engine import mode_of
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.types import Query
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.fingerprints import ByDescription, fingerprint
from secretsvc.kernel.schema_annotations import Count, Description, Name, Slug, Time, schema_name
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.projects import environment, project


@schema_name("Project")
@dataclass(frozen=True, slots=True)
class ProjectRow(ByDescription):
    """A project as clients see it; times in epoch milliseconds."""

    id: UUID
    slug: Slug
    name: Name
    description: Description | None
    created_at: Time
    updated_at: Time


@schema_name("Environment")
@dataclass(frozen=True, slots=True)
class EnvironmentRow:
    """An environment as clients see it; `rev` rises by one with each write of secrets.

    Writes to a `protected` one need a reason, and it cannot be deleted (contract 5.13).
    """

    id: UUID
    project_id: UUID
    slug: Slug
    name: Name
    description: Description | None
    rev: Count
    created_at: Time
    updated_at: Time
    protected: bool = False

    @property
    def fingerprint(self) -> str:
        """Of what its settings change."""
        return fingerprint([self.name, self.description, self.protected])


def find_project(call: UseCaseContext, at: ScopePath) -> ProjectRow:
    """The project at an address that the caller may enter. Raises `NotFound`."""
    row = call.connection.execute(_PROJECT, {"project_slug": at.project}).first()
    if row is None:
        raise not_found(call, at)
    return ProjectRow(*row)


def find_environment(call: UseCaseContext, at: ScopePath) -> EnvironmentRow:
    """The environment at an address that the caller may enter. Raises `NotFound`."""
    return EnvironmentRow(*environment_row(call, at, _ENVIRONMENT))


def lock_environment(call: UseCaseContext, at: ScopePath) -> EnvironmentRow:
    """As `find_environment`; until the transaction ends, other writers of it wait.

    On SQLite the transaction holds the write lock already. On PostgreSQL they queue in order before they ask
    for the row: who comes when one is let go of overtakes those who wait for it. Raises RuntimeError for a
    call that has begun to read without a transaction, which would hold no lock.
    """
    if mode_of(call.connection) is Mode.AUTOCOMMIT:
        raise RuntimeError("A call that reads without a transaction writes nothing afterwards.")
    if call.connection.dialect.name == "sqlite":
        return find_environment(call, at)
    return EnvironmentRow(*environment_row(call, at, _LOCKED, address=f"{at.project}/{at.environment}"))


def environment_row(
    call: UseCaseContext, at: ScopePath, statement: Prepared | Query, **parameters: object
) -> Any:
    """The row of a statement over `project` and `environment` at an address. Raises `NotFound`."""
    bound = {"project_slug": at.project, "environment_slug": at.environment, **parameters}
    if isinstance(statement, Prepared):
        rows = statement.rows(call.connection, bound)
    else:
        rows = call.connection.execute(statement, bound).all()
    if not rows:
        raise not_found(call, at)
    assert_covers_ids(call, at, rows[0].project_id, rows[0].id)
    return rows[0]


def project_in_sight(call: UseCaseContext) -> ColumnElement[bool]:
    """The condition that the caller sees a project: it holds a grant above, on or below it (contract 4.1)."""
    if call.snapshot.global_role is not None:
        return true()
    return project.c.id.in_({grant.project_id for grant in call.snapshot.effective_grants})


def environment_in_sight(call: UseCaseContext) -> ColumnElement[bool]:
    """The condition that the caller sees an environment: it holds a grant above or on it."""
    return covered_by(call.snapshot.effective_grants, environment.c.project_id, environment.c.id)


_PROJECT = select(*(project.c[one.name] for one in fields(ProjectRow))).where(
    project.c.slug == bindparam("project_slug")
)
_ENVIRONMENT = (
    select(*(environment.c[one.name] for one in fields(EnvironmentRow)))
    .join_from(environment, project)
    .where(at_environment())
)
# Evaluated before the row is asked for, which is the last that a statement does.
_TURN = select(
    func.pg_advisory_xact_lock(func.hashtextextended(bindparam("address", type_=Text), 0)).label("turn")
)
# Only the environment's row, and not against those who merely refer to it.
_LOCKED = _ENVIRONMENT.join(_TURN.subquery("queue"), true()).with_for_update(of=environment, key_share=True)
