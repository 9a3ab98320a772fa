"""What people call the things that records name by id: projects, environments, people and groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, cast, literal, null, select, union_all

from secretsvc.kernel.call import Call
from secretsvc.tables.grants import group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

PROJECT, ENVIRONMENT, IDENTITY, GROUP = range(4)
_NOTHING: ColumnElement[Any] = cast(null(), Text)


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A project, or an environment with its project, by slugs and names."""

    project: str
    project_name: str
    environment: str | None = None
    environment_name: str | None = None

    @property
    def path(self) -> str:
        """Of its page."""
        within = f"/environments/{self.environment}" if self.environment else ""
        return f"/projects/{self.project}{within}"

    @property
    def text(self) -> str:
        """What people call it: "Web shop / Production"."""
        within = f" / {self.environment_name}" if self.environment_name else ""
        return f"{self.project_name}{within}"


@dataclass(frozen=True, slots=True)
class HolderName:
    """An identity or a group; `subject` is the former's subject and the latter's slug."""

    path: str
    text: str
    subject: str


@dataclass(frozen=True, slots=True)
class Names:
    """What still exists of the things that were looked up, by id."""

    places: dict[UUID, PlaceName]
    holders: dict[UUID, HolderName]


def look_up(call: Call, scopes: Iterable[UUID], holders: Iterable[UUID]) -> Names:
    """The names of projects and environments, and of identities and groups, in one statement."""
    scope_ids, holder_ids = {*scopes}, {*holders}
    found = union_all(
        _row(PROJECT, project.c, project.c.slug, project.c.name).where(project.c.id.in_(scope_ids)),
        _row(
            ENVIRONMENT, environment.c, project.c.slug, project.c.name, environment.c.slug, environment.c.name
        )
        .join_from(environment, project)
        .where(environment.c.id.in_(scope_ids)),
        _row(IDENTITY, identity.c, identity.c.subject, identity.c.display_name).where(
            identity.c.id.in_(holder_ids)
        ),
        _row(GROUP, group.c, group.c.slug, group.c.name).where(group.c.id.in_(holder_ids)),
    )
    names = Names({}, {})
    for kind, key, *columns in call.connection.execute(found):
        if kind in (PROJECT, ENVIRONMENT):
            names.places[key] = PlaceName(*columns)
        else:
            under = "identities" if kind == IDENTITY else "groups"
            names.holders[key] = HolderName(f"/{under}/{key}", columns[1] or columns[0], columns[0])
    return names


def id_in(value: object) -> UUID | None:
    """The id that a detail of a record holds, if it is one."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _row(
    kind: int,
    of: Any,
    one: ColumnElement[Any],
    two: ColumnElement[Any],
    three: ColumnElement[Any] = _NOTHING,
    four: ColumnElement[Any] = _NOTHING,
) -> Select[Any]:
    names = zip(("one", "two", "three", "four"), (one, two, three, four), strict=True)
    return select(literal(kind).label("kind"), of.id, *(column.label(name) for name, column in names))
