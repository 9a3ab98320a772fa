"""Grants with the names of their holders, of who made them, and of their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func

from secretsvc.access.rules.grants import GrantRow, make_grant, select_grants
from secretsvc.access.rules.holders import GROUP, Holder
from secretsvc.access.rules.role_sources import SYSTEM
from secretsvc.db.types import Query
from secretsvc.kernel.display_names import full_name, short_name
from secretsvc.kernel.sidebar_project import NamedScope
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project


@dataclass(frozen=True, slots=True)
class NamedGrant:
    """A grant with the names of its holder, of who made it, and of its scope, "" for everywhere.

    `name` is for where the subject or slug stands next to it, `label` for sentences.
    """

    grant: GrantRow
    holder: Holder
    name: str
    label: str
    created_by: str
    scope_name: str

    @property
    def where(self) -> str:
        """Its scope in words."""
        return self.scope_name or "everywhere"


@dataclass(frozen=True, slots=True)
class Reached:
    """A project with those of its environments that are meant; `whole` where the project itself is, too."""

    slug: str
    name: str
    whole: bool
    environments: list[NamedScope]


def select_named() -> Query:
    """Every grant with what `make_named` needs."""
    maker = identity.alias("maker")
    return (
        select_grants()
        .outerjoin(identity, identity.c.id == grant.c.identity_id)
        .outerjoin(group, group.c.id == grant.c.group_id)
        .outerjoin(maker, maker.c.id == grant.c.created_by)
        .add_columns(
            identity.c.kind,
            func.coalesce(identity.c.subject, group.c.slug).label("holder"),
            identity.c.display_name,
            group.c.name.label("group_name"),
            maker.c.subject.label("maker"),
            maker.c.display_name.label("maker_name"),
            project.c.name.label("project_name"),
            environment.c.name.label("environment_name"),
        )
    )


def make_named(**row: Any) -> NamedGrant:
    """A grant from the columns of `select_named`."""
    kind, subject, display_name = row.pop("kind"), row.pop("holder"), row.pop("display_name")
    name = label = row.pop("group_name")
    if kind is not None:
        name, label = short_name(display_name, subject), full_name(display_name, subject)
    maker, maker_name = row.pop("maker"), row.pop("maker_name")
    created_by = SYSTEM if maker is None else full_name(maker_name, maker)
    names = tuple(filter(None, (row.pop("project_name"), row.pop("environment_name"))))
    holder = Holder(kind or GROUP, subject)
    return NamedGrant(make_grant(**row), holder, name, label, created_by, " / ".join(names))


def all_named(call: UseCaseContext, *conditions: ColumnElement[bool]) -> list[NamedGrant]:
    """The grants that meet some conditions, oldest first."""
    statement = select_named().where(*conditions).order_by(grant.c.id)
    return [make_named(**row) for row in call.connection.execute(statement).mappings()]
