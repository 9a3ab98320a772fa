"""What the page of a refusal tells beside it, read when the request's transaction is closed already."""

from __future__ import annotations

from dataclasses import replace

from secretsvc.access.domain.denial_explanation import explain_refusal
from secretsvc.db.engine import read_transaction
from secretsvc.kernel.authorization import Role, ScopePath, ScopeType, can_see, holds
from secretsvc.kernel.denial_details import DenialDetails
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest


def explained(request: ServiceRequest, at: ScopePath, needed: Role) -> DenialDetails | None:
    """Why the caller may not do it; None where it sees nothing there, or the role is not what was missing."""
    call = request.call
    if (
        holds(call.snapshot, needed, at)
        or at.scope_type is ScopeType.GLOBAL
        or not can_see(call.snapshot, at)
    ):
        return None
    with read_transaction(request.registry.database.engine) as connection:
        own = replace(call, connect=lambda _mode: connection, denials=[])
        return explain_refusal(own, at, needed)


def includeme(config: ServiceConfigurator) -> None:
    config.set_denial_explainer(explained)
