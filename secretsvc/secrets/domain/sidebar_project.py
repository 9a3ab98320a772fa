"""The project that a page lies in, with its environments, the number of their keys, and other projects."""

from __future__ import annotations

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Text,
    bindparam,
    cast,
    false,
    func,
    literal,
    null,
    select,
    union_all,
)

from secretsvc.access.rules.role_counts import number_of_holders
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.authorization import Role, ScopePath, decide, decide_row
from secretsvc.kernel.sidebar_project import NamedScope, ShellEnvironment, SidebarProject
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

#: How many other projects one can switch to without a look at all of them.
OTHERS = 8
PROJECT, ENVIRONMENT, OTHER = range(3)
_NONE: ColumnElement[int | None] = cast(null(), Integer)


def find_sidebar_project(call: UseCaseContext, at: ScopePath) -> SidebarProject | None:
    """The project of a scope, None where it is gone; one statement.

    Open to any identity, narrowed in the query.
    """
    slug: ColumnElement[str] = bindparam("slug", type_=Text)
    inside, administers = project.c.slug == slug, decide(call.snapshot, ScopePath(at.project)) is Role.ADMIN
    holders = number_of_holders(call, slug) if administers else _NONE
    found = union_all(_project(call, inside, holders), _environments(call, inside), _others(call, inside))
    # A union has no order, whatever that of its parts.
    parameters = {"slug": at.project, "now": call.now} if administers else {"slug": at.project}
    rows = sorted(call.connection.execute(found, parameters), key=lambda row: (row.kind, row.id))
    own = next((row for row in rows if row.kind == PROJECT), None)
    if own is None:
        return None
    return SidebarProject(
        own.slug,
        own.name,
        own.keys,
        [ShellEnvironment(*row[2:6]) for row in rows if row.kind == ENVIRONMENT],
        [NamedScope(row.slug, row.name) for row in rows if row.kind == OTHER],
        # The slug may have changed hands since the snapshot.
        own.holders if decide_row(call.snapshot, own.id) is Role.ADMIN else None,
    )


def _project(call: UseCaseContext, inside: ColumnElement[bool], holders: Expression) -> Query:
    keys = (
        select(func.count(secret.c.key.distinct()))
        .join_from(secret, environment)
        .where(environment.c.project_id == project.c.id, environment_in_sight(call), ~secret.c.deleted)
    )
    own = _row(PROJECT, project, false(), keys.scalar_subquery(), holders)
    return own.where(inside, project_in_sight(call))


def _environments(call: UseCaseContext, inside: ColumnElement[bool]) -> Query:
    keys = select(func.count()).where(secret.c.environment_id == environment.c.id, ~secret.c.deleted)
    rows = _row(ENVIRONMENT, environment, environment.c.protected, keys.scalar_subquery())
    return rows.join_from(environment, project).where(inside, environment_in_sight(call))


def _others(call: UseCaseContext, inside: ColumnElement[bool]) -> Query:
    rows = _row(OTHER, project, false(), literal(0)).where(~inside, project_in_sight(call))
    return select(rows.order_by(project.c.id).limit(OTHERS).subquery())


def _row(
    kind: int,
    of: FromClause,
    protected: ColumnElement[bool],
    keys: Expression,
    holders: Expression = _NONE,
) -> Query:
    return select(
        literal(kind).label("kind"),
        of.c.id,
        of.c.slug,
        of.c.name,
        protected.label("protected"),
        keys.label("keys"),
        holders.label("holders"),
    )
