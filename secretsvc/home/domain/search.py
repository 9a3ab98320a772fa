"""Finding projects, environments and secrets by a part of their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from sqlalchemy import ColumnElement, Text, cast, literal, null, select, union_all

from secretsvc.db.statements import by_code_point
from secretsvc.db.types import CompoundQuery, Expression, Query
from secretsvc.home.rules import holds_text
from secretsvc.kernel.schema_annotations import Name, SecretKey, Slug, one_of, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

#: What can be found, in the order in which it is listed.
PROJECT, ENVIRONMENT, SECRET = KINDS = ("project", "environment", "secret")
_NOTHING: Expression = cast(null(), Text)


@schema_name("SearchResult")
@dataclass(frozen=True, slots=True)
class Found:
    """A project, environment or secret by its address; None is what its kind does not have."""

    kind: Annotated[str, one_of(*KINDS)]
    project: Slug
    environment: Slug | None
    key: SecretKey | None
    name: Name | None


def search(call: UseCaseContext, text: str, limit: int) -> list[Found]:
    """What the caller sees that holds a text in its slug, name or key (contract 5.9).

    Open to any identity, narrowed in the query; one statement. At most `limit` of each kind, sorted by kind,
    project, environment and key, so that the first `limit` of them are the first of all. Letters of ASCII
    alone have a case.
    """
    rows = call.connection.execute(_statement(call, text, limit))
    found = [Found(KINDS[row.kind], row.project, row.environment, row.key, row.name) for row in rows]
    # A union has no order, whatever that of its parts.
    return sorted(
        found, key=lambda one: (KINDS.index(one.kind), one.project, one.environment or "", one.key or "")
    )


def _statement(call: UseCaseContext, text: str, limit: int) -> CompoundQuery:
    dialect_name = call.connection.dialect.name
    holds = partial(holds_text, dialect_name, text)
    exact = partial(by_code_point, dialect_name)
    projects = _found(PROJECT, exact(project.c.slug), name=project.c.name).where(
        project_in_sight(call), holds(project.c.slug, project.c.name)
    )
    environments = (
        _found(ENVIRONMENT, exact(project.c.slug), exact(environment.c.slug), name=environment.c.name)
        .join_from(environment, project)
        .where(environment_in_sight(call), holds(environment.c.slug, environment.c.name))
    )
    secrets = (
        _found(SECRET, exact(project.c.slug), exact(environment.c.slug), secret.c.key)
        .join_from(environment, project)
        .join(secret, secret.c.environment_id == environment.c.id)
        .where(environment_in_sight(call), ~secret.c.deleted, holds(secret.c.key))
    )
    return union_all(
        *(
            select(each.order_by("project", "environment", "key").limit(limit).subquery())
            for each in (projects, environments, secrets)
        )
    )


def _found(
    kind: str,
    in_project: ColumnElement[str],
    in_environment: Expression = _NOTHING,
    key: Expression = _NOTHING,
    name: Expression = _NOTHING,
) -> Query:
    """The columns of `Found`, its kind as a number."""
    return select(
        literal(KINDS.index(kind)).label("kind"),
        in_project.label("project"),
        in_environment.label("environment"),
        key.label("key"),
        name.label("name"),
    )
