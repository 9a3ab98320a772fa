"""Finding projects, environments and secrets by a part of their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, or_, select

from secretsvc.kernel.call import Call
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

#: How many of each kind are found at most.
LIMIT = 50


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project by its slug and name."""

    project: str
    name: str


@dataclass(frozen=True, slots=True)
class FoundEnvironment:
    """An environment by the slugs of its address, and its name."""

    project: str
    environment: str
    name: str


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A secret by the slugs of its address, and its key."""

    project: str
    environment: str
    key: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, sorted by address; `cut` where there was more of one kind than is shown."""

    projects: list[FoundProject]
    environments: list[FoundEnvironment]
    secrets: list[FoundSecret]
    cut: bool


def search(call: Call, text: str) -> Found:
    """What the caller sees that holds a text in its slug, name or key, whatever the case of its letters.

    Open to any identity, narrowed in the query; three statements. An empty text finds nothing. The database
    decides which letters are the same: on SQLite only those of ASCII have a case.
    """
    if not text:
        return Found([], [], [], cut=False)
    rows = [call.connection.execute(one).mappings().all() for one in _statements(call, text)]
    projects, environments, secrets = (found[:LIMIT] for found in rows)
    return Found(
        [FoundProject(**row) for row in projects],
        [FoundEnvironment(**row) for row in environments],
        [FoundSecret(**row) for row in secrets],
        cut=any(len(found) > LIMIT for found in rows),
    )


def _statements(call: Call, text: str) -> list[Select[Any]]:
    project_slug, environment_slug = project.c.slug.label("project"), environment.c.slug.label("environment")
    projects = select(project_slug, project.c.name).where(
        project_in_sight(call), _holds(text, project.c.slug, project.c.name)
    )
    environments = (
        select(project_slug, environment_slug, environment.c.name)
        .join_from(environment, project)
        .where(environment_in_sight(call), _holds(text, environment.c.slug, environment.c.name))
    )
    secrets = (
        select(project_slug, environment_slug, secret.c.key)
        .select_from(secret)
        .join(environment, environment.c.id == secret.c.environment_id)
        .join(project, project.c.id == environment.c.project_id)
        .where(environment_in_sight(call), ~secret.c.deleted, _holds(text, secret.c.key))
    )
    return [
        projects.order_by(project.c.slug).limit(LIMIT + 1),
        environments.order_by(project.c.slug, environment.c.slug).limit(LIMIT + 1),
        secrets.order_by(secret.c.key, project.c.slug, environment.c.slug).limit(LIMIT + 1),
    ]


def _holds(text: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that one of the columns has the text in it, signs of patterns taken as they stand."""
    return or_(*(column.icontains(text, autoescape=True) for column in columns))
