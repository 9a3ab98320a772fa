"""The API of the audit log."""

from __future__ import annotations

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.sealedlog.resources import Audit
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import ADMIN_SOMEWHERE


def read_audit(_context: Audit, request: ServiceRequest) -> object:
    """`GET /audit`."""
    query = dict(request.query_values)
    read = domain.read_sealed if query.pop("order", None) else domain.read_audit
    return read(request.call, AuditFilter(**query))


def includeme(config: ServiceConfigurator) -> None:
    """Declares the operations."""
    config.add_api_view(
        read_audit,
        context=Audit,
        operation_id="readAudit",
        summary="Read the audit log, newest first, or what is sealed of it in its order",
        role=ADMIN_SOMEWHERE,
        query=schemas.AuditQuery(),
        response=domain.AuditPage,
    )
