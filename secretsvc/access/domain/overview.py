"""Who has which role in a project or an environment: everybody who holds one, through what, until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import FromClause, RowMapping, and_, cast, literal_column, null, or_, select
from sqlalchemy import union_all as union

from secretsvc.access.rules.holders import GROUP
from secretsvc.access.rules.role_sources import SYSTEM, HolderRoles, RoleSource
from secretsvc.authorization.rules.checks import assert_can, assert_covers_ids, not_found
from secretsvc.db.types import CompoundQuery, Expression, Query
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import ADMIN_EVERYWHERE, HeldGrant, Role, ScopePath, ScopeType, is_expired
from secretsvc.kernel.display_names import full_name, short_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project


def access_to(call: UseCaseContext, at: ScopePath) -> list[HolderRoles]:
    """Everybody with a grant that reaches a project, its environments, or one of them; in two statements.

    People, groups and service tokens, the strongest first, also those whose own grants have all ended, and
    disabled ones if they hold grants themselves. Raises `NotFound`.
    """
    assert_can(call, Role.ADMIN, at)
    rows = call.connection.execute(_grants(at)).mappings().all()
    if not rows:
        raise not_found(call, at)
    assert_covers_ids(call, at, rows[0]["at_project"], rows[0]["at_environment"])
    given = [row for row in rows if row["id"] is not None]
    any_members = bool(call.settings.bootstrap_admins) or any(row["group_id"] for row in given)
    members = call.connection.execute(_members(call, given)).mappings().all() if any_members else []
    return _arranged(call, at, given, members)


def _grants(at: ScopePath) -> Query:
    """Each grant there with its holder and who made it; one row without a grant where there is none."""
    here, inside, maker = environment.alias("here"), environment.alias("inside"), identity.alias("maker")
    # Spelled out as the partial index of global grants has it.
    reaching = [grant.c.scope_type == literal_column("'global'")]
    scopes: FromClause = project
    at_environment: Expression = cast(null(), environment.c.id.type)
    if at.environment is None:
        reaching.append(grant.c.project_id == project.c.id)
    else:
        scopes = project.join(here, and_(here.c.project_id == project.c.id, here.c.slug == at.environment))
        at_environment = here.c.id
        whole = and_(grant.c.project_id == project.c.id, grant.c.environment_id.is_(None))
        reaching += [whole, grant.c.environment_id == here.c.id]
    source = (
        scopes.outerjoin(grant, or_(*reaching))
        .outerjoin(inside, inside.c.id == grant.c.environment_id)
        .outerjoin(identity, identity.c.id == grant.c.identity_id)
        .outerjoin(group, group.c.id == grant.c.group_id)
        .outerjoin(maker, maker.c.id == grant.c.created_by)
    )
    return (
        select(
            project.c.id.label("at_project"),
            at_environment.label("at_environment"),
            *grant.c,
            inside.c.slug.label("environment"),
            *_identity_columns(),
            group.c.slug.label("group"),
            group.c.name.label("group_name"),
            maker.c.subject.label("maker"),
            maker.c.display_name.label("maker_name"),
        )
        .select_from(source)
        .where(project.c.slug == at.project)
        .order_by(grant.c.id)
    )


def _identity_columns() -> list[Expression]:
    own = identity.c
    return [
        own.kind,
        own.subject,
        own.display_name,
        own.disabled,
        own.last_seen_at,
        own.id.label("holder_id"),
    ]


def _members(call: UseCaseContext, given: Sequence[RowMapping]) -> CompoundQuery:
    """The members of the groups that hold something, and those whom BOOTSTRAP_ADMINS names, of no group."""
    groups = {row["group_id"] for row in given if row["group_id"] is not None}
    members = (
        select(group_member.c.group_id, *_identity_columns())
        .join_from(group_member, identity)
        .where(group_member.c.group_id.in_(groups))
    )
    listed = select(cast(null(), group.c.id.type).label("group_id"), *_identity_columns()).where(
        identity.c.kind == Kind.USER.value,
        identity.c.subject.in_(call.settings.bootstrap_admins),
        ~identity.c.disabled,
    )
    return union(members, listed)


def _arranged(
    call: UseCaseContext, at: ScopePath, given: Sequence[RowMapping], members: Sequence[RowMapping]
) -> list[HolderRoles]:
    of_group: dict[UUID, list[RoleSource]] = {}
    found: dict[UUID, HolderRoles] = {}
    sizes: dict[UUID, int] = {}
    for row in members:
        if row["group_id"] is not None:
            sizes[row["group_id"]] = sizes.get(row["group_id"], 0) + 1
    for row in given:
        way = _way(row, at)
        holder = _holding(found, {**row}, sizes)
        ended = is_expired(way.held.expires_at, call.now)
        (holder.ended if ended else holder.ways).append(way)
        if row["group_id"] is not None and not ended:
            of_group.setdefault(row["group_id"], []).append(way.through(holder.as_group()))
    for row in members:
        if not row["disabled"]:
            _add_member(found, row, of_group)
    return sorted(found.values(), key=lambda one: one.order)


def _add_member(
    found: dict[UUID, HolderRoles], row: RowMapping, of_group: Mapping[UUID, list[RoleSource]]
) -> None:
    ways: Iterable[RoleSource] = of_group.get(row["group_id"], ())
    if row["group_id"] is None:
        ways = [RoleSource(ADMIN_EVERYWHERE, None, SYSTEM, None)]
        holder = found.get(row["holder_id"])
        if holder is not None and any(way.is_admin_everywhere for way in holder.ways):
            return
    if ways:
        _holding(found, {**row, "group": None}, {}).ways.extend(ways)


def _holding(
    found: dict[UUID, HolderRoles], row: Mapping[str, Any], sizes: Mapping[UUID, int]
) -> HolderRoles:
    if row["group"] is not None:
        holder_id = row["group_id"]
        made = HolderRoles(GROUP, holder_id, row["group_name"], row["group"], members=sizes.get(holder_id, 0))
    else:
        holder_id, subject = row["holder_id"], row["subject"]
        name = short_name(row["display_name"], subject)
        is_new = row["last_seen_at"] is None
        made = HolderRoles(row["kind"], holder_id, name, subject, disabled=row["disabled"], announced=is_new)
    return found.setdefault(holder_id, made)


def _way(row: RowMapping, at: ScopePath) -> RoleSource:
    """A row as a grant at the address, above or below it, which is why its slugs are known."""
    scope_type = ScopeType(row["scope_type"])
    held = HeldGrant(
        row["id"],
        None,
        Role(row["role"]),
        scope_type,
        project_id=row["project_id"],
        project=None if scope_type is ScopeType.GLOBAL else at.project,
        environment_id=row["environment_id"],
        environment=row["environment"],
        expires_at=row["expires_at"],
    )
    made_by = SYSTEM if row["maker"] is None else full_name(row["maker_name"], row["maker"])
    return RoleSource(held, None, made_by, row["created_at"])
