"""What clients get of the service itself."""

from __future__ import annotations

from secretsvc.web.schema import Body, Text, required


class Health(Body):
    """Proof that the service listens."""

    service = required(Text(maximum=64))
    status = required(Text(maximum=64))
    version = required(Text(maximum=64))
