"""The API of the key ring."""

from __future__ import annotations

from dataclasses import dataclass

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.schema_annotations import Kid, schema_name
from secretsvc.keyring import domain, schemas
from secretsvc.keyring.resources import Admin
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import api_view


@schema_name("KeyRing")
@dataclass(frozen=True, slots=True)
class KeyRingState:
    """The ring and its rows, in the words of the contract."""

    active_kid: Kid
    keys: list[domain.MasterKey]
    safeToRemoveOldKey: bool


@api_view(
    name="keyring",
    operation_id="getKeyRing",
    summary="Report the master keys and the rows that name them",
    role=Role.ADMIN,
)
def key_ring(_context: Admin, request: ServiceRequest) -> KeyRingState:
    """`GET /admin/keyring`."""
    report = domain.key_ring(request.call)
    return KeyRingState(report.active_kid, report.keys, report.safe_to_remove_old_key)


@api_view(
    name="rekey",
    method="POST",
    operation_id="rekey",
    summary="Move one page of envelopes to the active key",
    role=Role.ADMIN,
    body=schemas.RekeyBody(),
)
def rekey(_context: Admin, request: ServiceRequest) -> domain.Rekeyed:
    """`POST /admin/rekey`."""
    return domain.rekey(request.call, **request.body_values)
