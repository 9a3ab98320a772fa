"""What a caller is refused, found by its slugs: the absent takes as many reads as the invisible."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, and_, bindparam, func, select

from secretsvc.db.types import Query
from secretsvc.kernel.authorization import ScopePath, ScopeType
from secretsvc.kernel.use_case import Denial, UseCaseContext
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project


def record_denial(call: UseCaseContext, action: str, at: ScopePath) -> bool:
    """Notes a denial at an address, and tells whether anything is there; one statement below global scope."""
    if at.scope_type is ScopeType.GLOBAL:
        call.denials.append(Denial(action))
        return True
    me = call.actor.identity_id
    found: UUID = call.connection.execute(_LOCATE[at.scope_type], {**_slugs(at), "me": me}).scalar_one()
    absent = found == me
    if at.scope_type is ScopeType.ENVIRONMENT:
        call.denials.append(Denial(action, environment_id=found, absent=absent))
    else:
        call.denials.append(Denial(action, project_id=found, absent=absent))
    return not absent


def note_denial_of_any(call: UseCaseContext, action: str, slug: str) -> None:
    """As `record_denial`, of all environments of a slug; of several at once, at no scope."""
    parameters = {"me": call.actor.identity_id, "environment_slug": slug}
    count, first = call.connection.execute(_LOCATE_ANY, parameters).one()
    call.denials.append(Denial(action, environment_id=first if count < 2 else None, absent=not count))


def _slugs(at: ScopePath) -> dict[str, str]:
    names = {"project_slug": at.project, "environment_slug": at.environment}
    return {name: slug for name, slug in names.items() if slug is not None}


def at_environment() -> ColumnElement[bool]:
    """The condition that an environment has the slugs of the bound parameters."""
    return and_(
        project.c.slug == bindparam("project_slug"),
        environment.c.slug == bindparam("environment_slug"),
    )


def _or_me(found: Query) -> ColumnElement[UUID]:
    """The id that a query finds, else the caller's own: what is not there takes as many reads."""
    me = select(identity.c.id).where(identity.c.id == bindparam("me", type_=identity.c.id.type))
    return func.coalesce(found.scalar_subquery(), me.scalar_subquery())


_OF_SLUG = environment.c.slug == bindparam("environment_slug")


_LOCATE = {
    ScopeType.PROJECT: select(
        _or_me(select(project.c.id).where(project.c.slug == bindparam("project_slug")))
    ),
    ScopeType.ENVIRONMENT: select(
        _or_me(select(environment.c.id).join_from(project, environment).where(at_environment()))
    ),
}
_LOCATE_ANY = select(
    select(func.count()).select_from(environment).where(_OF_SLUG).scalar_subquery(),
    _or_me(select(environment.c.id).where(_OF_SLUG).order_by(environment.c.id).limit(1)),
)
