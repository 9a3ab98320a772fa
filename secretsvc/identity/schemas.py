"""What clients send and get of identities."""

from __future__ import annotations

from secretsvc.web.schema import (
    CURSOR,
    Body,
    Boolean,
    Choice,
    Identifier,
    Integer,
    Items,
    Text,
    optional,
    required,
)


class UpdateIdentityBody(Body):
    """`PATCH /identities/{id}`."""

    display_name = optional(Text(minimum=1, maximum=256, strip=True))
    disabled = optional(Boolean())


class IdentityFilter(Body):
    """The filter of the list."""

    q = required(Text(maximum=320, strip=True))


class Identity(Body):
    """An identity."""

    id = required(Identifier())
    kind = required(Choice("user", "service"))
    subject = required(Text(minimum=1, maximum=320))
    display_name = required(Text(minimum=1, maximum=256, strip=True, nullable=True))
    disabled = required(Boolean())
    created_at = required(Integer())
    last_seen_at = required(Integer())


class IdentityPage(Body):
    """A list of identities."""

    items = required(Items(Identity()))
    next_cursor = required(CURSOR)


class IdentityList(Body):
    """The members of a group."""

    items = required(Items(Identity()))


class WhoAmI(Body):
    """The caller."""

    identity = Identity()
    global_role = required(Choice("reader", "writer", "admin", nullable=True))
