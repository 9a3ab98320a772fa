"""What clients send and get of service tokens."""

from __future__ import annotations

from secretsvc.web.schema import NAME, Body, Integer, required


class CreateTokenBody(Body):
    """`POST /identities/{id}/tokens`."""

    name = required(NAME)
    expires_at = required(Integer())
