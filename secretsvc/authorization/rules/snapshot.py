"""Access rules: the snapshot of grants in one statement, and the refusals that hide what is not visible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn
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

from secretsvc.authorization.rules.locating import note_denial
from secretsvc.db.prepared import Prepared
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.authorization import (
    Address,
    HeldGrant,
    Role,
    ScopeType,
    administered,
    decide,
    decide_row,
    sees,
    sees_project,
)
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import Forbidden, NotFound
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

PROJECT_NOT_FOUND = "Project not found."
ENVIRONMENT_NOT_FOUND = "Environment not found."

_now: ColumnElement[int] = bindparam("now", type_=BigInteger)


def is_live(now: ColumnElement[int] = _now) -> ColumnElement[bool]:
    """A grant is expired when `now >= expires_at`, in epoch milliseconds (contract 3.6)."""
    return or_(grant.c.expires_at.is_(None), grant.c.expires_at > now)


def usable_global_admin() -> ColumnElement[bool]:
    """Whether some enabled identity holds a live global admin grant, itself or through a group.

    Two questions of which each ends at its first answer: as one, PostgreSQL reads all identities for it.
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
            exists().select_from(source).where(everywhere, as_admin, is_live(), ~enabled.c.disabled)
            for source in (direct, shared)
        )
    )


def _snapshot_statement() -> Any:
    """Three index scans in one statement: the identity, its own live grants, those of its groups.

    One `LEFT JOIN … OR …` would read every grant that there is.
    """
    me = (
        select(identity)
        .where(identity.c.kind == bindparam("kind"), identity.c.subject == bindparam("subject"))
        .cte("me")
    )
    who = select(
        literal("identity").label("part"),
        me.c.id,
        _none(grant.c.group_id).label("group_id"),
        me.c.display_name.label("role"),
        _none(grant.c.scope_type).label("scope_type"),
        _none(grant.c.project_id).label("project_id"),
        _none(project.c.slug).label("project"),
        _none(grant.c.environment_id).label("environment_id"),
        _none(environment.c.slug).label("environment"),
        me.c.last_seen_at.label("at"),
        me.c.created_at,
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
        _none(me.c.created_at),
        _none(me.c.disabled),
    )
    return select(*columns).select_from(source).where(holder == my_id, is_live())


_SNAPSHOT = Prepared(_snapshot_statement())


@dataclass(frozen=True, slots=True)
class KnownIdentity:
    """The identity row of the caller; times in epoch milliseconds."""

    id: UUID
    display_name: str | None
    disabled: bool
    created_at: int
    last_seen_at: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What one statement tells of a principal: its row, its live grants, and whether any admin exists."""

    identity: KnownIdentity | None
    grants: tuple[HeldGrant, ...]
    admin_exists: bool

    @property
    def has_own_global_admin(self) -> bool:
        """Whether a live global admin grant is held directly."""
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
            known = KnownIdentity(row.id, row.role, row.disabled, row.created_at, row.at)
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


def assert_can(call: Call, role: Role, at: Address) -> None:
    """Passes when the caller holds the role at the address.

    Raises `Forbidden` where the thing is visible and `NotFound` where it is not; both are noted as a
    denial (specification, "Authorization resolution" 11; contract 3.10).
    """
    held = decide(call.snapshot, at)
    if held is None or not held.implies(role):
        _refuse(call, role, at)


def assert_sees(call: Call, at: Address) -> None:
    """Passes when the project at the address is visible to the caller (contract 4.1)."""
    if not sees(call.snapshot, at):
        _refuse(call, Role.READER, at)


def assert_admin_somewhere(call: Call) -> None:
    """Passes when the caller is an admin at any scope; a failure is `authz.global.admin` (contract 3.10)."""
    if next(administered(call.snapshot), None) is None:
        _refuse(call, Role.ADMIN, Address())


def confirm(call: Call, project_id: UUID, environment_id: UUID | None = None) -> None:
    """Passes when the rows that the slugs named are covered too. Raises `NotFound`.

    Slugs can change hands between the snapshot and the load; see `decide_row`.
    """
    if decide_row(call.snapshot, project_id, environment_id) is None:
        raise NotFound(PROJECT_NOT_FOUND if environment_id is None else ENVIRONMENT_NOT_FOUND)


def not_found(call: Call, at: Address) -> NotFound:
    """The answer for the absent and the invisible: it tells no more than what the caller sees anyway."""
    inside = at.environment is not None and sees_project(call.snapshot, at.project or "")
    return NotFound(ENVIRONMENT_NOT_FOUND if inside else PROJECT_NOT_FOUND)


def _refuse(call: Call, role: Role, at: Address) -> NoReturn:
    """Notes the denial and raises. Absent and invisible take the same work (decision 0027)."""
    visible = sees(call.snapshot, at)
    exists_there = note_denial(call, f"authz.{at.scope_type}.{role}", at)
    if visible and exists_there:
        raise Forbidden()
    raise not_found(call, at)
