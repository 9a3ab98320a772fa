"""The snapshot: what a principal is and holds, in one statement.

A union of four parts gives rows of three kinds. `part` says which; what is blank is a NULL of the column's
type:

    part       id         group_id … expires_at             last_seen_at … issuer   admin_exists … release
    --------   --------   -------------------------------   ---------------------   ----------------------
    identity   identity   (blank)                           the caller's row        (blank)
    admins     (blank)    (blank)                           (blank)                 the whole database's
    grant      grant      a grant of the caller's own       (blank)                 (blank)
    grant      grant      a grant of the caller's group     (blank)                 (blank)

`identity` is missing for an unknown caller or a token that is not in force; `admins` never is.
`load_standing` makes one `CallerSnapshot` of the rows, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    join,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
    union_all,
)

from secretsvc.authentication.service_tokens import ServiceToken
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.schema import SchemaRelease, schema_release
from secretsvc.db.types import CompoundQuery, Expression, Query
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import HeldGrant, Role, ScopeType
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project
from secretsvc.tables.service_tokens import service_token

_NOW: ColumnElement[int] = bindparam("now", type_=BigInteger)


def not_expired() -> ColumnElement[bool]:
    """The condition that a grant is not expired: `is_expired` of kernel/authorization.py, in SQL.

    Its parameter is `now`.
    """
    return or_(grant.c.expires_at.is_(None), grant.c.expires_at > _NOW)


def covered_by(
    grants: Iterable[HeldGrant], project_id: ColumnElement[UUID], environment_id: ColumnElement[UUID]
) -> ColumnElement[bool]:
    """The condition that one of the grants lies above or on an environment, by the columns of these ids."""
    held = list(grants)
    if any(one.scope_type is ScopeType.GLOBAL for one in held):
        return true()
    whole = {one.project_id for one in held if one.scope_type is ScopeType.PROJECT}
    single = {one.environment_id for one in held if one.scope_type is ScopeType.ENVIRONMENT}
    return or_(project_id.in_(whole), environment_id.in_(single))


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


_GRANT_COLUMNS: dict[str, Expression] = {
    "id": grant.c.id,
    "group_id": grant.c.group_id,
    "role": grant.c.role,
    "scope_type": grant.c.scope_type,
    "project_id": grant.c.project_id,
    "project": project.c.slug,
    "environment_id": grant.c.environment_id,
    "environment": environment.c.slug,
    "expires_at": grant.c.expires_at,
}
_CALLER = (
    identity.c.id,
    identity.c.kind,
    identity.c.subject,
    identity.c.disabled,
    identity.c.display_name,
    identity.c.issuer,
)
#: What the union has beside `part`; a part has NULL in the columns that are not its own.
_COLUMNS: dict[str, Expression] = {
    **_GRANT_COLUMNS,
    "last_seen_at": identity.c.last_seen_at,
    "kind": identity.c.kind,
    "subject": identity.c.subject,
    "disabled": identity.c.disabled,
    "display_name": identity.c.display_name,
    "issuer": identity.c.issuer,
    "admin_exists": literal(True),
    "revision": schema_release.c.revision,
    "oldest_release": schema_release.c.oldest_release,
}


def _by_name() -> Query:
    named = identity.c.kind == bindparam("kind"), identity.c.subject == bindparam("subject")
    return select(*_CALLER, identity.c.last_seen_at).where(*named)


def _by_token() -> Query:
    """The identity of a service token in force, with the earlier time of the two (contract 6.4)."""
    seen, used = identity.c.last_seen_at, func.coalesce(service_token.c.last_used_at, 0)
    return (
        select(*_CALLER, case((used < seen, used), else_=seen).label("last_seen_at"))
        .select_from(join(service_token, identity, identity.c.id == service_token.c.identity_id))
        .where(service_token.c.digest == bindparam("digest"), service_token.c.expires_at > _NOW)
    )


def _snapshot_statement(caller: Query) -> CompoundQuery:
    """The union drawn above: each part is an index scan. One `LEFT JOIN … OR …` would read all grants."""
    me = caller.cte("me")
    who = _part("identity", **{column.name: column for column in me.c})
    schema = {name: select(schema_release.c[name]).scalar_subquery() for name in SchemaRelease._fields}
    admins = _part("admins", admin_exists=usable_global_admin(), **schema)
    return union_all(who, admins, _held(me, direct=True), _held(me, direct=False))


def _part(name: str, **own: Expression) -> Query:
    """One part of the union: its own columns, and blanks for the others."""
    # NULL of a column's type, which neither PostgreSQL nor SQLAlchemy could guess within a union.
    blank = {column: cast(null(), typed.type) for column, typed in _COLUMNS.items()}
    return select(literal(name).label("part"), *(one.label(column) for column, one in (blank | own).items()))


def _held(me: FromClause, *, direct: bool) -> Query:
    # The caller as one value, not as a table to be joined: SQLite would rather read all grants for that.
    my_id = select(me.c.id).scalar_subquery()
    source: FromClause = (
        grant if direct else join(group_member, grant, grant.c.group_id == group_member.c.group_id)
    )
    holder = grant.c.identity_id if direct else group_member.c.identity_id
    source = source.outerjoin(project, project.c.id == grant.c.project_id)
    source = source.outerjoin(environment, environment.c.id == grant.c.environment_id)
    return _part("grant", **_GRANT_COLUMNS).select_from(source).where(holder == my_id, not_expired())


_SNAPSHOT = Prepared(_snapshot_statement(_by_name()))
_SNAPSHOT_BY_TOKEN = Prepared(_snapshot_statement(_by_token()))


@dataclass(frozen=True, slots=True)
class KnownIdentity:
    """What a request asks of its caller's identity row.

    `last_seen_at` is in epoch milliseconds, None until the first visit. `issuer` is that of the workload
    issuer by which it first came, None where it came by none or that is not known.
    """

    id: UUID
    disabled: bool
    last_seen_at: int | None
    display_name: str | None
    issuer: str | None


@dataclass(frozen=True, slots=True)
class CallerSnapshot:
    """What one statement tells of a principal: its row, its unexpired grants, whether any admin exists.

    Nobody's, where a service token is not in force.
    """

    principal: Principal | None
    identity: KnownIdentity | None
    grants: tuple[HeldGrant, ...]
    admin_exists: bool
    #: What the database says of its schema.
    schema: SchemaRelease | None = None

    @property
    def is_first_visit(self) -> bool:
        """Whether the identity never signed in."""
        return self.identity is None or self.identity.last_seen_at is None

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


def load_standing(connection: Connection, proven: Principal | ServiceToken, now: int) -> CallerSnapshot:
    """Loads a principal's standing as of `now` in epoch milliseconds, in one statement."""
    principal: Principal | None = None
    if isinstance(proven, ServiceToken):
        rows = _SNAPSHOT_BY_TOKEN.rows(connection, {"digest": proven.digest, "now": now})
    else:
        principal = proven
        parameters = {"kind": principal.kind.value, "subject": principal.subject, "now": now}
        rows = _SNAPSHOT.rows(connection, parameters)
    known, admin_exists, grants, schema = None, False, [], None
    for row in rows:
        if row.part == "grant":
            grants.append(_held_grant(row))
        elif row.part == "admins":
            admin_exists = row.admin_exists
            schema = None if row.revision is None else SchemaRelease(row.revision, row.oldest_release)
        else:
            principal = Principal(Kind(row.kind), row.subject)
            known = KnownIdentity(row.id, row.disabled, row.last_seen_at, row.display_name, row.issuer)
    return CallerSnapshot(principal, known, tuple(grants), admin_exists, schema)


def _held_grant(row: Any) -> HeldGrant:
    return HeldGrant(
        grant_id=row.id,
        group_id=row.group_id,
        role=Role(row.role),
        scope_type=ScopeType(row.scope_type),
        project_id=row.project_id,
        project=row.project,
        environment_id=row.environment_id,
        environment=row.environment,
        expires_at=row.expires_at,
    )
