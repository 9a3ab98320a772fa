"""The snapshot: what a principal is and holds, in one statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    cast,
    exists,
    join,
    literal,
    literal_column,
    null,
    or_,
    select,
    union_all,
)

from secretsvc.db.prepared import Prepared
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.authorization import HeldGrant, Role, ScopeType
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

_NOW: ColumnElement[int] = bindparam("now", type_=BigInteger)


def not_expired() -> ColumnElement[bool]:
    """The condition that a grant is not expired: `is_expired` of kernel/authorization.py, in SQL.

    Its parameter is `now`.
    """
    return or_(grant.c.expires_at.is_(None), grant.c.expires_at > _NOW)


def usable_global_admin() -> ColumnElement[bool]:
    """Whether some enabled identity holds an unexpired global admin grant, itself or through a group.

    Two EXISTS instead of one with OR: for that PostgreSQL scans all identities.
    """
    # Spelled out as the partial index has it, so that it will do for a plan made before the values are known.
    everywhere = grant.c.scope_type == literal_column("'global'")
    as_admin = grant.c.role == literal_column("'admin'")
    enabled = identity.alias("enabled")
    # Said, though the join implies it: SQLite would look at the grants of all groups first.
    held = and_(enabled.c.id == grant.c.identity_id, grant.c.identity_id.is_not(None))
    direct = join(grant, enabled, held)
    shared = join(grant, group_member, group_member.c.group_id == grant.c.group_id)
    shared = shared.join(enabled, enabled.c.id == group_member.c.identity_id)
    return or_(
        *(
            exists().select_from(source).where(everywhere, as_admin, not_expired(), ~enabled.c.disabled)
            for source in (direct, shared)
        )
    )


def _snapshot_statement() -> Any:
    """Three index scans in one statement: the identity, its own unexpired grants, those of its groups.

    One `LEFT JOIN … OR …` would read every grant that there is.
    """
    me = (
        select(identity.c.id, identity.c.disabled, identity.c.last_seen_at)
        .where(identity.c.kind == bindparam("kind"), identity.c.subject == bindparam("subject"))
        .cte("me")
    )
    who = select(
        literal("identity").label("part"),
        me.c.id,
        _none(grant.c.group_id).label("group_id"),
        _none(grant.c.role).label("role"),
        _none(grant.c.scope_type).label("scope_type"),
        _none(grant.c.project_id).label("project_id"),
        _none(project.c.slug).label("project"),
        _none(grant.c.environment_id).label("environment_id"),
        _none(environment.c.slug).label("environment"),
        me.c.last_seen_at.label("at"),
        me.c.disabled,
    )
    blank = [_none(column) for column in list(who.selected_columns)[1:-1]]
    admins = select(literal("admins"), *blank, usable_global_admin())
    return union_all(who, admins, _held(me, direct=True), _held(me, direct=False))


def _none(column: Any) -> Any:
    """NULL of a column's type, which neither PostgreSQL nor SQLAlchemy could guess within a union."""
    return cast(null(), column.type)


def _held(me: Any, *, direct: bool) -> Select[Any]:
    # The caller as one value, not as a table to be joined: SQLite would rather read all grants for that.
    my_id = select(me.c.id).scalar_subquery()
    source: Any = grant if direct else join(group_member, grant, grant.c.group_id == group_member.c.group_id)
    holder = grant.c.identity_id if direct else group_member.c.identity_id
    source = source.outerjoin(project, project.c.id == grant.c.project_id)
    source = source.outerjoin(environment, environment.c.id == grant.c.environment_id)
    columns = (
        literal("grant"),
        grant.c.id,
        grant.c.group_id,
        grant.c.role,
        grant.c.scope_type,
        grant.c.project_id,
        project.c.slug,
        grant.c.environment_id,
        environment.c.slug,
        grant.c.expires_at,
        _none(me.c.disabled),
    )
    return select(*columns).select_from(source).where(holder == my_id, not_expired())


_SNAPSHOT = Prepared(_snapshot_statement())


@dataclass(frozen=True, slots=True)
class KnownIdentity:
    """What a request asks of its caller's identity row; `last_seen_at` in epoch milliseconds."""

    id: UUID
    disabled: bool
    last_seen_at: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What one statement tells of a principal: its row, its unexpired grants, whether any admin exists."""

    identity: KnownIdentity | None
    grants: tuple[HeldGrant, ...]
    admin_exists: bool

    @property
    def has_own_global_admin(self) -> bool:
        """Whether an unexpired global admin grant is held directly."""
        return has_own_global_admin(self.grants)


def has_own_global_admin(grants: Iterable[HeldGrant]) -> bool:
    """Whether a global admin grant is among them that came through no group."""
    return any(
        held.group_id is None and held.scope_type is ScopeType.GLOBAL and held.role is Role.ADMIN
        for held in grants
    )


def load_standing(connection: Connection, principal: Principal, now: int) -> Standing:
    """Loads a principal's standing as of `now` in epoch milliseconds, in one statement."""
    parameters = {"kind": principal.kind.value, "subject": principal.subject, "now": now}
    known, admin_exists, grants = None, False, []
    for row in _SNAPSHOT.rows(connection, parameters):
        if row.part == "grant":
            grants.append(_held_grant(row))
        elif row.part == "admins":
            admin_exists = bool(row.disabled)
        else:
            known = KnownIdentity(row.id, row.disabled, row.at)
    return Standing(known, tuple(grants), admin_exists)


def _held_grant(row: Any) -> HeldGrant:
    return HeldGrant(
        row.id,
        row.group_id,
        Role(row.role),
        ScopeType(row.scope_type),
        row.project_id,
        row.project,
        row.environment_id,
        row.environment,
        row.at,
    )
