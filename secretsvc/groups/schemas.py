"""What clients send and get of groups, their members and their grants."""

from __future__ import annotations

from secretsvc.web.schema import Body, Identifier, NamedChanges, NewNamed, required


class CreateGroupBody(NewNamed):
    """`POST /groups`."""


class UpdateGroupBody(NamedChanges):
    """`PATCH /groups/{id}`."""


class AddGroupMemberBody(Body):
    """`POST /groups/{id}/members`."""

    identity_id = required(Identifier())
