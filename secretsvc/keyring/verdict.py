"""What whoever watches the process asks of the key ring: whether it may seal into the database."""

from __future__ import annotations

from sqlalchemy import Connection

from secretsvc.secrets.write.sealing import may_seal
from secretsvc.web.config import ServiceConfigurator


def includeme(config: ServiceConfigurator) -> None:
    """Puts the question on the registry, for readiness (contract 8.3)."""
    registry = config.registry

    def key_verdict(connection: Connection) -> bool:
        return may_seal(connection, registry.load_ring())

    registry.key_verdict = key_verdict
