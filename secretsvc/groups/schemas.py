"""What clients send and get of groups, their members and their grants."""

from __future__ import annotations

from secretsvc.web.schema import DESCRIPTION, NAME, Body, Identifier, Slug, optional, required


class CreateGroupBody(Body):
    """`POST /groups`."""

    slug = required(Slug())
    name = required(NAME)
    description = optional(DESCRIPTION)


class UpdateGroupBody(Body):
    """`PATCH /groups/{id}`."""

    name = optional(NAME)
    description = optional(DESCRIPTION)


class AddGroupMemberBody(Body):
    """`POST /groups/{id}/members`."""

    identity_id = required(Identifier())
