"""Use cases of the grants of identities."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

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
from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.identity.rules import find_identity
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import Conflict
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant


def list_grants(call: UseCaseContext, window: Window) -> Page[GrantRow]:
    """The grants at scopes that the caller administers, oldest first."""
    assert_admin_somewhere(call)
    statement = select_grants().where(within_administered(call))
    return page_of(call.connection, statement, grant.c.id, window, make_grant)


def grant_to_identity(call: UseCaseContext, identity_id: UUID, terms: Terms) -> GrantRow:
    """Grants a role to an identity. Raises `NotFound` for an identity that is not there, `Conflict`."""
    assert_can(call, Role.ADMIN, terms.scope)
    find_identity(call, identity_id)
    return create_grant(call, terms, identity_id=identity_id)


def update_grant(call: UseCaseContext, grant_id: UUID, changes: Mapping[str, object]) -> GrantRow:
    """Changes a grant of an identity or of a group (contract 5.10).

    Raises `NotFound`, `Forbidden`, `Conflict`, `LastAdmin`.
    """
    assert_admin_somewhere(call)
    return change_grant(call, changes, grant_id)


def extend_grant(call: UseCaseContext, grant_id: UUID, drawn: int, *, length: int) -> bool:
    """Lets a grant end later, if it still ends when a page said so; whether it did anything.

    `drawn` is that end in epoch milliseconds, and the new one is `length` milliseconds after it, or after now
    where it is over. Raises as `update_grant` does, and `Conflict` where somebody has shortened it.
    """
    assert_admin_somewhere(call)
    found = find_grant(call, grant_id)
    if found.expires_at is None or found.expires_at > drawn:
        return False
    if found.expires_at < drawn:
        raise Conflict("Somebody has changed the end of this grant. Look at it again.")
    change_grant(call, {"expires_at": max(drawn, call.now) + length}, grant_id)
    return True


def delete_grant(call: UseCaseContext, grant_id: UUID) -> None:
    """Removes a grant of an identity or of a group (contract 4.8). Raises `NotFound`, `LastAdmin`."""
    assert_admin_somewhere(call)
    remove_grant(call, find_grant(call, grant_id))
