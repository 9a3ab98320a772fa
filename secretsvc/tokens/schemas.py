"""What clients send and get of service tokens."""

from __future__ import annotations

from secretsvc.web.schema import NAME, Body, Identifier, Integer, Items, Text, required


class CreateTokenBody(Body):
    """`POST /identities/{id}/tokens`."""

    name = required(NAME)
    expires_at = required(Integer())


class Token(Body):
    """A service token, without itself."""

    id = required(Identifier())
    name = required(NAME)
    prefix = required(Text(minimum=8, maximum=8))
    created_at = required(Integer())
    created_by = required(Identifier(literals=("system",)))
    expires_at = required(Integer())
    last_used_at = required(Integer(nullable=True))


class CreatedToken(Token):
    """The one answer that holds it."""

    token = required(Text(minimum=53, maximum=53))


class TokenList(Body):
    """The service tokens of an identity."""

    items = required(Items(Token()))
