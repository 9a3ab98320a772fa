"""Use cases of projects and environments. Each asserts its role first and records what it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, select, update

from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import (
    ENVIRONMENT_NOT_FOUND,
    PROJECT_NOT_FOUND,
    assert_can,
    assert_covers_ids,
    assert_sees,
)
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.db.statements import as_found, delete_one, has_text, insert_one, update_one
from secretsvc.kernel.authorization import GLOBAL, Role, ScopePath, sees_row
from secretsvc.kernel.errors import AddressTaken, Conflict, NotFound
from secretsvc.kernel.fingerprints import changes_left, gone
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import (
    EnvironmentRow,
    ProjectRow,
    environment_in_sight,
    find_environment,
    find_project,
    lock_environment,
    project_in_sight,
)
from secretsvc.tables.projects import environment, project

PROTECTED = "The environment is protected."
PROTECTED_INSIDE = "The project has a protected environment."


def list_projects(call: UseCaseContext, window: Window, containing: str = "") -> Page[ProjectRow]:
    """The projects that the caller sees, oldest first; with a text, those whose slug or name has it.

    Open to any identity, narrowed in the query.
    """
    statement = select(project).where(project_in_sight(call))
    if containing:
        statement = statement.where(has_text(containing, project.c.slug, project.c.name))
    return page_of(call.connection, statement, project.c.id, window, ProjectRow)


def create_project(
    call: UseCaseContext, *, slug: str, name: str, description: str | None = None
) -> ProjectRow:
    """A new project. Raises `Conflict` for a slug that is taken."""
    assert_can(call, Role.WRITER, GLOBAL)
    created = ProjectRow(new_id(), slug, name, description, call.now, call.now)
    insert_one(call.connection, project, asdict(created), AddressTaken())
    record(call, "project.create", project_id=created.id, detail={"slug": slug})
    return created


def get_project(call: UseCaseContext, at: ScopePath) -> ProjectRow:
    """One visible project."""
    assert_sees(call, at)
    found = find_project(call, at)
    _confirm_sight(call, found)
    return found


def update_project(
    call: UseCaseContext, at: ScopePath, changes: Mapping[str, object], seen: str | None = None
) -> ProjectRow:
    """Changes `name` and `description`; no changes are a no-op (contract 2).

    A form gives the fingerprint that it has `seen`. Raises `PreconditionFailed` where that is another by now.
    """
    assert_can(call, Role.WRITER, at)
    found = find_project(call, at)
    assert_covers_ids(call, at, found.id)
    changes = changes_left(found, changes, seen)
    if not changes:
        return found
    statement = update(project).where(project.c.id == found.id).values(**changes, updated_at=call.now)
    if seen is not None:
        statement = statement.where(as_found(project, found, changes))
    row = update_one(call.connection, statement, project, gone(PROJECT_NOT_FOUND, seen))
    record(call, "project.update", project_id=found.id, detail={"fields": sorted(changes)})
    return ProjectRow(**row)


def delete_project(call: UseCaseContext, at: ScopePath) -> None:
    """Deletes a project, its environments, their secrets and history, and every grant scoped to them.

    Raises `Conflict` where one of the environments is protected (contract 5.13).
    """
    assert_can(call, Role.ADMIN, at)
    found = find_project(call, at)
    assert_covers_ids(call, at, found.id)
    # Until the end nobody protects one of them.
    if any(call.connection.execute(_LOCK_INSIDE, {"project_id": found.id}).scalars().all()):
        raise Conflict(PROTECTED_INSIDE)
    delete_one(call.connection, delete(project).where(project.c.id == found.id), PROJECT_NOT_FOUND)
    record(call, "project.delete", project_id=found.id, detail={"slug": found.slug})


def list_environments(call: UseCaseContext, at: ScopePath) -> list[EnvironmentRow]:
    """The environments of a visible project that the caller sees, oldest first."""
    assert_sees(call, at)
    found = find_project(call, at)
    _confirm_sight(call, found)
    return _environments(call, environment.c.project_id == found.id)


def visible_environments(
    call: UseCaseContext, projects: Iterable[ProjectRow]
) -> dict[UUID, list[EnvironmentRow]]:
    """The environments that the caller sees of some projects, oldest first, by the project's id.

    Open to any identity, narrowed in the query.
    """
    ids = [one.id for one in projects]
    found: dict[UUID, list[EnvironmentRow]] = {one: [] for one in ids}
    for one in _environments(call, environment.c.project_id.in_(ids)):
        found[one.project_id].append(one)
    return found


def create_environment(
    call: UseCaseContext, at: ScopePath, *, slug: str, name: str, description: str | None = None
) -> EnvironmentRow:
    """A new environment at revision 0. Raises `Conflict` for a slug that the project has already."""
    assert_can(call, Role.WRITER, at)
    parent = find_project(call, at)
    assert_covers_ids(call, at, parent.id)
    created = EnvironmentRow(new_id(), parent.id, slug, name, description, 0, call.now, call.now)
    insert_one(call.connection, environment, asdict(created), AddressTaken(), PROJECT_NOT_FOUND)
    _record(call, "environment.create", created, {"slug": slug})
    return created


def get_environment(call: UseCaseContext, at: ScopePath) -> EnvironmentRow:
    """One environment."""
    assert_can(call, Role.READER, at)
    return find_environment(call, at)


def update_environment(
    call: UseCaseContext, at: ScopePath, changes: Mapping[str, object], seen: str | None = None
) -> EnvironmentRow:
    """Changes `name`, `description` and `protected` (contract 5.13); no changes are a no-op.

    `seen` is as in `update_project`.
    """
    assert_can(call, Role.ADMIN, at)
    found = find_environment(call, at)
    changes = changes_left(found, changes, seen)
    if not changes:
        return found
    statement = update(environment).where(environment.c.id == found.id).values(**changes, updated_at=call.now)
    if seen is not None:
        statement = statement.where(as_found(environment, found, changes))
    row = update_one(call.connection, statement, environment, gone(ENVIRONMENT_NOT_FOUND, seen))
    detail: dict[str, object] = {"fields": sorted(changes)}
    if "protected" in changes:
        detail["protected"] = changes["protected"]
    _record(call, "environment.update", found, detail)
    return EnvironmentRow(**row)


def delete_environment(call: UseCaseContext, at: ScopePath) -> None:
    """Deletes an environment, its secrets and their history, and every grant scoped to it.

    Raises `Conflict` for a protected one (contract 5.13).
    """
    assert_can(call, Role.ADMIN, at)
    # Under its lock: nobody protects it until the end.
    found = lock_environment(call, at)
    if found.protected:
        raise Conflict(PROTECTED)
    statement = delete(environment).where(environment.c.id == found.id)
    delete_one(call.connection, statement, ENVIRONMENT_NOT_FOUND)
    _record(call, "environment.delete", found, {"slug": found.slug})


def _record(call: UseCaseContext, action: str, of: EnvironmentRow, detail: Mapping[str, object]) -> None:
    record(call, action, project_id=of.project_id, environment_id=of.id, detail=detail)


def _environments(call: UseCaseContext, condition: ColumnElement[bool]) -> list[EnvironmentRow]:
    statement = select(environment).where(condition, environment_in_sight(call)).order_by(environment.c.id)
    return [EnvironmentRow(**row) for row in call.connection.execute(statement).mappings()]


def _confirm_sight(call: UseCaseContext, found: ProjectRow) -> None:
    """As `assert_covers_ids`, for those who see a project by a grant on one of its environments."""
    if not sees_row(call.snapshot, found.id):
        raise NotFound(PROJECT_NOT_FOUND)


# In one order, for whoever deletes it at the same time.
_LOCK_INSIDE = (
    select(environment.c.protected)
    .where(environment.c.project_id == bindparam("project_id"))
    .order_by(environment.c.id)
    .with_for_update()
)
