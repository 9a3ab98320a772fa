"""What people call the things that records name by id: projects, environments, people and groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID

import orjson
from sqlalchemy import Text, cast, literal, null, or_, select, union_all

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.records import SUCCESS
from secretsvc.db.base import Id
from secretsvc.db.types import Columns, Expression, Query
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.models import audit_head, audit_pruned
from secretsvc.tables.grants import group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

PROJECT, ENVIRONMENT, IDENTITY, GROUP, DEPARTED, SEAL = range(6)
_NOTHING: Expression = cast(null(), Text)


@dataclass(frozen=True, slots=True)
class ScopeName:
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
    """An identity by its full name or a group by its own; `subject` is a group's slug."""

    path: str
    text: str
    subject: str


@dataclass(frozen=True, slots=True)
class SealedUpTo:
    """How many records are sealed and when the last was; records from before `complete_since` are pruned."""

    size: int
    sealed_at: int
    complete_since: int | None


@dataclass(frozen=True, slots=True)
class Names:
    """What still exists of the things that were looked up, by id; and the state of the log, if asked for.

    `departed` has the slugs of what is deleted, in so far as the log knows them.
    """

    scopes: dict[UUID, ScopeName]
    holders: dict[UUID, HolderName]
    departed: dict[UUID, str] = field(default_factory=dict)
    sealed: SealedUpTo | None = None


def look_up(
    call: UseCaseContext,
    scopes: Iterable[UUID],
    identities: Iterable[UUID],
    groups: Iterable[UUID],
    *,
    with_seal: bool = False,
) -> Names:
    """The names of projects and environments, and of identities and groups, in one statement.

    With `with_seal` it tells how far the log is sealed, too.
    """
    scope_ids, group_ids = {*scopes}, {*groups}
    parts = [
        _row(PROJECT, project.c, project.c.slug, project.c.name).where(project.c.id.in_(scope_ids)),
        _row(
            ENVIRONMENT, environment.c, project.c.slug, project.c.name, environment.c.slug, environment.c.name
        )
        .join_from(environment, project)
        .where(environment.c.id.in_(scope_ids)),
        _row(IDENTITY, identity.c, identity.c.subject, identity.c.display_name).where(
            identity.c.id.in_({*identities})
        ),
        _row(GROUP, group.c, group.c.slug, group.c.name).where(group.c.id.in_(group_ids)),
        *_departed(scope_ids, group_ids),
    ]
    names, sealed = Names({}, {}), None
    for kind, key, *columns in call.connection.execute(union_all(*parts, *([_SEAL] if with_seal else []))):
        if kind == SEAL:
            sealed = SealedUpTo(int(columns[0]), int(columns[1]), columns[2] and int(columns[2]))
        elif kind == DEPARTED:
            names.departed.update(_slug_in(key, columns[0]))
        elif kind in (PROJECT, ENVIRONMENT):
            names.scopes[key] = ScopeName(*columns)
        else:
            names.holders[key] = _holder(kind, key, *columns[:2])
    return replace(names, sealed=sealed)


def _holder(kind: int, key: UUID, one: str, two: str) -> HolderName:
    """An identity from its subject and display name, a group from its slug and name."""
    if kind == IDENTITY:
        return HolderName(f"/identities/{key}", full_name(two, one), one)
    return HolderName(f"/groups/{key}", two, one)


def _departed(scope_ids: set[UUID], group_ids: set[UUID]) -> list[Query]:
    """The records that tell the slugs of things, which never change.

    An environment that went with its project has none of its deletion. Of a group the detail alone has the
    id, so that all deletions of groups are looked through.
    """
    row = audit_record.c
    parts = [
        _told(column, ("create", "delete"), thing).where(column.in_(scope_ids))
        for column, thing in ((row.project_id, "project"), (row.environment_id, "environment"))
    ]
    if group_ids:
        named = or_(*(row.detail.contains(str(one)) for one in group_ids))
        parts.append(_told(cast(null(), Id), ("delete",), "group").where(named))
    return parts


def _told(key: Expression, verbs: Iterable[str], thing: str) -> Query:
    row = audit_record.c
    columns = (literal(DEPARTED).label("kind"), key.label("id"), row.detail.label("one"))
    nothing = (_NOTHING.label(name) for name in ("two", "three", "four"))
    actions = [f"{thing}.{verb}" for verb in verbs]
    return select(*columns, *nothing).where(row.action.in_(actions), row.outcome == SUCCESS)


def _slug_in(key: UUID | None, detail: str | None) -> dict[UUID, str]:
    """The slug of a thing, where the detail of its record can be read."""
    try:
        told = orjson.loads(detail or "null")
    except orjson.JSONDecodeError:
        return {}
    told = told if isinstance(told, dict) else {}
    of = key or id_in(told.get("group_id"))
    return {of: str(told["slug"])} if of is not None and "slug" in told else {}


def id_in(value: object) -> UUID | None:
    """The id that a detail of a record holds, if it is one."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _row(
    kind: int,
    of: Columns,
    one: Expression,
    two: Expression,
    three: Expression = _NOTHING,
    four: Expression = _NOTHING,
) -> Query:
    names = zip(("one", "two", "three", "four"), (one, two, three, four), strict=True)
    return select(literal(kind).label("kind"), of.id, *(column.label(name) for name, column in names))


_SINCE = select(cast(audit_pruned.c.complete_since, Text)).scalar_subquery()
_SEAL = select(
    literal(SEAL).label("kind"),
    cast(null(), Id).label("id"),
    cast(audit_head.c.size, Text),
    cast(audit_head.c.sealed_at, Text),
    _SINCE,
    _NOTHING,
)
