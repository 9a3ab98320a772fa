"""Use cases of groups: records and members are for global admins, grants for the admins of their scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import delete, func, select, update

from secretsvc.access.rules.grants import (
    GrantRow,
    Terms,
    change_grant,
    create_grant,
    find_grant,
    make_grant,
    remove_grant,
    select_grants,
    within_administered,
)
from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.authorization.rules.last_admin import last_admin_guard
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.db.statements import (
    as_found,
    delete_one,
    has_text,
    insert_one,
    insert_or_ignore,
    update_one,
)
from secretsvc.identity.rules import COLUMNS, IdentityRow, find_identity
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.errors import AddressTaken, Conflict, NotFound
from secretsvc.kernel.fingerprints import ByDescription, changes_left, gone
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.schema_annotations import Description, Name, Slug, Time, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

GROUP_NOT_FOUND = "Group not found."
MEMBER_NOT_FOUND = "Member not found."


@schema_name("Group")
@dataclass(frozen=True, slots=True)
class GroupRow(ByDescription):
    """A group as clients see it; times in epoch milliseconds."""

    id: UUID
    slug: Slug
    name: Name
    description: Description | None
    created_at: Time
    updated_at: Time


def list_groups(call: UseCaseContext, window: Window) -> Page[GroupRow]:
    """Every group, oldest first."""
    assert_admin_somewhere(call)
    return page_of(call.connection, select(group), group.c.id, window, GroupRow)


@dataclass(frozen=True, slots=True)
class CountedGroup(GroupRow):
    """A group with the numbers of its members, and of its grants at scopes that the caller administers.

    Those that have ended are included.
    """

    members: int
    grants: int


def count_groups(call: UseCaseContext, window: Window, containing: str = "") -> Page[CountedGroup]:
    """Every group, oldest first, with how much there is of it; with a text, those whose name has it."""
    assert_admin_somewhere(call)
    members = select(func.count()).where(group_member.c.group_id == group.c.id).scalar_subquery()
    counted = select(func.count()).where(grant.c.group_id == group.c.id, within_administered(call))
    grants = counted.scalar_subquery()
    statement = select(group, members.label("members"), grants.label("grants"))
    if containing:
        statement = statement.where(has_text(containing, group.c.slug, group.c.name))
    return page_of(call.connection, statement, group.c.id, window, CountedGroup)


def create_group(call: UseCaseContext, *, slug: str, name: str, description: str | None = None) -> GroupRow:
    """A new group without members. Raises `Conflict` for a slug that is taken."""
    assert_can(call, Role.ADMIN, GLOBAL)
    created = GroupRow(new_id(), slug, name, description, call.now, call.now)
    insert_one(call.connection, group, asdict(created), AddressTaken())
    record(call, "group.create", detail={"group_id": created.id, "slug": slug})
    return created


def get_group(call: UseCaseContext, group_id: UUID) -> GroupRow:
    """One group."""
    assert_admin_somewhere(call)
    return _find_group(call, group_id)


def update_group(
    call: UseCaseContext, group_id: UUID, changes: Mapping[str, object], seen: str | None = None
) -> GroupRow:
    """Changes `name` and `description`; no changes are a no-op.

    A form gives the fingerprint that it has `seen`. Raises `PreconditionFailed` where that is another by now.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    found = _find_group(call, group_id)
    changes = changes_left(found, changes, seen)
    if not changes:
        return found
    statement = update(group).where(group.c.id == group_id).values(**changes, updated_at=call.now)
    if seen is not None:
        statement = statement.where(as_found(group, found, changes))
    row = update_one(call.connection, statement, group, gone(GROUP_NOT_FOUND, seen))
    record(call, "group.update", detail={"group_id": group_id, "fields": sorted(changes)})
    return GroupRow(**row)


def delete_group(call: UseCaseContext, group_id: UUID) -> None:
    """Deletes a group with its memberships and grants. Raises `NotFound`, `LastAdmin`."""
    assert_can(call, Role.ADMIN, GLOBAL)
    found = _find_group(call, group_id)
    with last_admin_guard(call):
        delete_one(call.connection, delete(group).where(group.c.id == group_id), GROUP_NOT_FOUND)
    record(call, "group.delete", detail={"group_id": group_id, "slug": found.slug})


def list_members(call: UseCaseContext, group_id: UUID) -> list[IdentityRow]:
    """The identities in a group, oldest first."""
    assert_admin_somewhere(call)
    _find_group(call, group_id)
    rows = call.connection.execute(
        select(*COLUMNS)
        .join_from(identity, group_member)
        .where(group_member.c.group_id == group_id)
        .order_by(identity.c.id)
    )
    return [IdentityRow(**row) for row in rows.mappings()]


def add_member(call: UseCaseContext, group_id: UUID, *, identity_id: UUID) -> IdentityRow:
    """Adds an identity to a group. Raises `NotFound` for either, `Conflict` for a member."""
    assert_can(call, Role.ADMIN, GLOBAL)
    _find_group(call, group_id)
    member = find_identity(call, identity_id)
    row = {"group_id": group_id, "identity_id": identity_id, "created_at": call.now}
    if not insert_or_ignore(call.connection, group_member, row):
        raise Conflict("The identity is a member already.")
    record(call, "group.member.add", detail={"group_id": group_id, "identity_id": identity_id})
    return member


def remove_member(call: UseCaseContext, group_id: UUID, *, identity_id: UUID) -> None:
    """Removes an identity from a group. Raises `NotFound`, `LastAdmin`."""
    assert_can(call, Role.ADMIN, GLOBAL)
    with last_admin_guard(call):
        membership = delete(group_member).where(
            group_member.c.group_id == group_id, group_member.c.identity_id == identity_id
        )
        try:
            delete_one(call.connection, membership, MEMBER_NOT_FOUND)
        except NotFound:
            _find_group(call, group_id)
            raise
    record(call, "group.member.remove", detail={"group_id": group_id, "identity_id": identity_id})


def list_group_grants(call: UseCaseContext, group_id: UUID) -> list[GrantRow]:
    """A group's grants at scopes that the caller administers, oldest first (contract 3.7)."""
    assert_admin_somewhere(call)
    _find_group(call, group_id)
    statement = select_grants().where(grant.c.group_id == group_id, within_administered(call))
    rows = call.connection.execute(statement.order_by(grant.c.id)).mappings()
    return [make_grant(**row) for row in rows]


def grant_to_group(call: UseCaseContext, group_id: UUID, terms: Terms) -> GrantRow:
    """Grants a role to a group. Raises `NotFound` for a group that is not there, `Conflict`."""
    assert_can(call, Role.ADMIN, terms.scope)
    _find_group(call, group_id)
    return create_grant(call, terms, group_id=group_id)


def update_group_grant(
    call: UseCaseContext, group_id: UUID, *, grant_id: UUID, changes: Mapping[str, object]
) -> GrantRow:
    """Changes a grant of this group (contract 5.10). Raises `NotFound` for a pair that does not match.

    Also `Forbidden`, `Conflict`, `LastAdmin`.
    """
    assert_admin_somewhere(call)
    return change_grant(call, changes, grant_id, group_id)


def delete_group_grant(call: UseCaseContext, group_id: UUID, *, grant_id: UUID) -> None:
    """Removes a grant of this group. Raises `NotFound` for a pair that does not match, `LastAdmin`."""
    assert_admin_somewhere(call)
    remove_grant(call, find_grant(call, grant_id, group_id))


def _find_group(call: UseCaseContext, group_id: UUID) -> GroupRow:
    row = call.connection.execute(select(group).where(group.c.id == group_id)).mappings().first()
    if row is None:
        raise NotFound(GROUP_NOT_FOUND)
    return GroupRow(**row)
