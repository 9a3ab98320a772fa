"""What clients send and get of groups, their members and their grants."""

from __future__ import annotations

from secretsvc.access.schemas import Grant
from secretsvc.web.schema import (
    CURSOR,
    DESCRIPTION,
    NAME,
    Body,
    Identifier,
    Integer,
    Items,
    Slug,
    optional,
    required,
)


class CreateGroupBody(Body):
    """`POST /groups`."""

    slug = required(Slug())
    name = required(NAME)
    description = optional(DESCRIPTION)


class UpdateGroupBody(Body):
    """`PATCH /groups/{id}`."""

    name = optional(NAME)
    description = optional(DESCRIPTION)


class Group(Body):
    """A group."""

    id = required(Identifier())
    slug = required(Slug())
    name = required(NAME)
    description = required(DESCRIPTION)
    created_at = required(Integer())
    updated_at = required(Integer())


class GroupPage(Body):
    """A list of groups."""

    items = required(Items(Group()))
    next_cursor = required(CURSOR)


class AddGroupMemberBody(Body):
    """`POST /groups/{id}/members`."""

    identity_id = required(Identifier())


class GrantList(Body):
    """The grants of a group."""

    items = required(Items(Grant()))
