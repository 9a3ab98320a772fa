"""The API of the key ring."""

from __future__ import annotations

from typing import Any

from secretsvc.kernel.authorization import Role
from secretsvc.keyring import domain, schemas
from secretsvc.keyring.resources import Admin


def key_ring(_context: Admin, request: Any) -> Any:
    """`GET /admin/keyring`."""
    report = domain.key_ring(request.call)
    return {
        "active_kid": report.active_kid,
        "keys": report.keys,
        "safeToRemoveOldKey": report.safe_to_remove_old_key,
    }


def rekey(_context: Admin, request: Any) -> Any:
    """`POST /admin/rekey`."""
    return domain.rekey(request.call, **request.body_values)


def includeme(config: Any) -> None:
    """Declares the operations."""
    config.include(".resources")
    config.add_api_view(
        key_ring,
        context=Admin,
        name="keyring",
        operation_id="getKeyRing",
        summary="Report the master keys and the rows that name them",
        role=Role.ADMIN,
        response=schemas.KeyRing(),
    )
    config.add_api_view(
        rekey,
        context=Admin,
        name="rekey",
        method="POST",
        operation_id="rekey",
        summary="Move one page of envelopes to the active key",
        role=Role.ADMIN,
        body=schemas.RekeyBody(),
        response=schemas.Rekeyed(),
    )
