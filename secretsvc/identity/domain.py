"""Use cases of identities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import bindparam, delete, func, select, update

from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.authorization.rules.last_admin import last_enabled_admin_guard
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.db.statements import as_found, has_text, insert_or_ignore, update_one
from secretsvc.identity.rules import (
    COLUMNS,
    IDENTITY_NOT_FOUND,
    IdentityRow,
    check_display_name,
    find_identity,
)
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.errors import Conflict, NotFound
from secretsvc.kernel.fingerprints import changes_left, gone
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.service_tokens import service_token

TOO_MANY_ANNOUNCED = "You added too many identities."
SIGNED_IN = "The identity has signed in."
#: What goes with an identity.
HELD = (grant, group_member, service_token)
#: The parts of the list, and the condition of each.
SEGMENTS = {
    "people": identity.c.kind == Kind.USER.value,
    "services": identity.c.kind == Kind.SERVICE.value,
    "announced": identity.c.last_seen_at.is_(None),
    "disabled": identity.c.disabled,
}


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """The caller, and its role at every scope if it has one."""

    identity: IdentityRow
    global_role: Role | None


def who_am_i(call: UseCaseContext) -> WhoAmI:
    """The caller itself; open to any identity, the disabled too."""
    return WhoAmI(find_identity(call, call.actor.identity_id), call.snapshot.global_role)


def list_identities(
    call: UseCaseContext, window: Window, *, containing: str = "", show: str = ""
) -> Page[IdentityRow]:
    """Everyone who ever came with a valid assertion or was announced, the first first.

    With a text, those whose subject or display name contains it, in capitals or not; `show` is one of
    `SEGMENTS`, or "" for all.
    """
    assert_admin_somewhere(call)
    statement = select(*COLUMNS)
    if containing:
        statement = statement.where(has_text(containing, identity.c.subject, identity.c.display_name))
    if show:
        statement = statement.where(SEGMENTS[show])
    return page_of(call.connection, statement, identity.c.id, window, IdentityRow)


def count_identities(call: UseCaseContext) -> dict[str, int]:
    """How many there are, under "", and of each of `SEGMENTS`; one statement."""
    assert_admin_somewhere(call)
    kinds = [func.count().filter(condition).label(name) for name, condition in SEGMENTS.items()]
    row = call.connection.execute(select(func.count().label("all"), *kinds).select_from(identity)).one()
    return dict(zip(["", *SEGMENTS], row, strict=True))


def announce_identity(
    call: UseCaseContext, *, kind: str, subject: str, display_name: str | None = None
) -> IdentityRow:
    """An identity before its first visit, so that it can be granted something (contract 5.12).

    The subject is in the normal form of its kind, as in `kernel.subjects`. Raises `Conflict` for one that is
    there, `ValidationFailed` for a name that is another's subject, and `RateLimited` beyond `IDENTITY_LIMIT`,
    which is not for global admins (contract 17.2).
    """
    assert_admin_somewhere(call)
    limit = call.settings.identity_limit
    if limit is not None and call.snapshot.global_role is not Role.ADMIN:
        # Before the first statement, so that no lock is held while the count is kept.
        names = ("identity", str(call.actor.identity_id))
        call.count(limit, 1, names, setting="IDENTITY_LIMIT", message=TOO_MANY_ANNOUNCED)
    check_display_name(call, display_name, subject)
    announced = IdentityRow(new_id(), kind, subject, display_name, False, call.now, None)
    if not insert_or_ignore(call.connection, identity, asdict(announced)):
        raise Conflict("The identity is there already.", about="subject")
    detail = {"identity_id": announced.id, "kind": kind, "subject": subject}
    record(call, "identity.create", detail=detail)
    return announced


def update_identity(
    call: UseCaseContext, identity_id: UUID, changes: Mapping[str, object], seen: str | None = None
) -> IdentityRow:
    """Changes `display_name` and `disabled`; no changes are a no-op.

    A form gives the fingerprint that it has `seen`. Raises `PreconditionFailed` where that is another by now.
    Raises `NotFound`, `ValidationFailed` for a name that is another's subject, and `LastAdmin` for disabling
    the last usable global admin (contract 3.8, 4.13).
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    found = find_identity(call, identity_id)
    check_display_name(call, changes.get("display_name"), found.subject)
    changes = changes_left(found, changes, seen)
    if not changes:
        return found
    with last_enabled_admin_guard(call):
        statement = update(identity).where(identity.c.id == identity_id).values(**changes)
        if seen is not None:
            statement = statement.where(as_found(identity, found, changes))
        missing = gone(IDENTITY_NOT_FOUND, seen)
        updated = IdentityRow(**update_one(call.connection, statement, COLUMNS, missing))
    detail = {"identity_id": identity_id, "fields": sorted(changes), "disabled": updated.disabled}
    record(call, "identity.update", detail=detail)
    return updated


def delete_identity(call: UseCaseContext, identity_id: UUID) -> None:
    """Removes an identity that never signed in, with its grants, memberships and tokens (contract 17.2).

    Raises `NotFound`, `Conflict` for one that signed in, and `LastAdmin`.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    with last_enabled_admin_guard(call):
        # Locked: its first sign-in waits and makes it again, or came first and is seen here.
        row = call.connection.execute(_LOCKED, {"identity_id": identity_id}).mappings().first()
        if row is None:
            raise NotFound(IDENTITY_NOT_FOUND)
        found = IdentityRow(**row)
        if found.last_seen_at is not None:
            raise Conflict(SIGNED_IN, hint="Disable it instead.")
        for table in HELD:
            call.connection.execute(delete(table).where(table.c.identity_id == identity_id))
        call.connection.execute(delete(identity).where(identity.c.id == identity_id))
    detail = {"identity_id": identity_id, "kind": found.kind, "subject": found.subject}
    record(call, "identity.delete", detail=detail)


_LOCKED = select(*COLUMNS).where(identity.c.id == bindparam("identity_id")).with_for_update()
