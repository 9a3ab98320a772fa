"""What clients get of identities."""

from __future__ import annotations

from secretsvc.web.schema import Body, Boolean, Choice, Identifier, Integer, Text, required


class Identity(Body):
    """An identity."""

    id = required(Identifier())
    kind = required(Choice("user", "service"))
    subject = required(Text(minimum=1, maximum=320))
    display_name = required(Text(minimum=1, maximum=256, strip=True, nullable=True))
    disabled = required(Boolean())
    created_at = required(Integer())
    last_seen_at = required(Integer())


class WhoAmI(Body):
    """The caller."""

    identity = Identity()
    global_role = required(Choice("reader", "writer", "admin", nullable=True))
