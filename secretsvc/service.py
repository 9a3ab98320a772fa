"""What a process shares between requests: its settings, its database, its key ring."""

from __future__ import annotations

from functools import cache
from typing import Any

from secretsvc.db.session import Database
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.settings import Settings


def includeme(config: Any) -> None:
    """Puts them on the registry; none is opened before it is needed."""
    registry = config.registry
    settings = Settings(registry.settings)
    settings.report()
    registry.service_settings = settings
    registry.database = Database(settings)

    @cache
    def load_ring() -> KeyRing:
        ring = KeyRing(settings.master_key, settings.master_key_old)
        ring.check()
        return ring

    registry.load_ring = load_ring
