"""How many hold a role in a project: the number that stands beside "Access"."""

from __future__ import annotations

from sqlalchemy import ColumnElement, ScalarSelect, func, literal_column, or_, select, union

from secretsvc.authorization.rules.snapshot import not_expired
from secretsvc.db.types import Query
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import project


def number_of_holders(call: UseCaseContext, slug: ColumnElement[str]) -> ScalarSelect[int]:
    """The people, groups and service tokens that the page "Access" of a project lists, as a part of a query.

    Each counts once, through however many grants it holds something. Its parameter is `now`.
    """
    # Another name for the table: the query around reads it too, and would be taken for this one.
    here = project.alias("counted")
    own = select(here.c.id).where(here.c.slug == slug).scalar_subquery()
    # Spelled out as the partial index of global grants has it.
    reaching = or_(grant.c.scope_type == literal_column("'global'"), grant.c.project_id == own)
    held: list[Query] = [
        select(grant.c.identity_id.label("holder")).where(grant.c.identity_id.is_not(None)),
        select(grant.c.group_id).where(grant.c.group_id.is_not(None)),
        select(group_member.c.identity_id)
        .join_from(grant, group_member, group_member.c.group_id == grant.c.group_id)
        .join(identity, identity.c.id == group_member.c.identity_id)
        .where(~identity.c.disabled),
    ]
    listed = select(identity.c.id).where(
        identity.c.kind == Kind.USER.value,
        identity.c.subject.in_(call.settings.bootstrap_admins),
        ~identity.c.disabled,
    )
    every = union(*(one.where(reaching, not_expired()) for one in held), listed)
    return select(func.count()).select_from(every.subquery()).scalar_subquery()
