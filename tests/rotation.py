"""A key rotation as tests stage it."""

from __future__ import annotations

import base64

from service import MASTER_KEY, Client, Service

NEW_KEY = base64.b64encode(bytes(range(32, 64))).decode()
PROD = "/projects/shop/environments/prod"


def rotated(service: Service, **settings: str) -> Service:
    """The service after the swap: the new key seals, the old one opens."""
    return service.restarted(MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY, **settings)


def fill(admin: Client, count: int = 5) -> None:
    """Current, historical and deleted versions."""
    keys = [f"KEY_{number}" for number in range(count)]
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": dict.fromkeys(keys, "one")})
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": dict.fromkeys(keys[1:], "two")})
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "delete": [keys[-1]]})
