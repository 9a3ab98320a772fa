"""The API of the audit log."""

from __future__ import annotations

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import Root
from secretsvc.web.views import ADMIN_SOMEWHERE


def read_audit(_context: Root, request: ServiceRequest) -> object:
    """`GET /audit`."""
    return domain.read_audit(request.call, AuditFilter(**request.query_values))


def includeme(config: ServiceConfigurator) -> None:
    """Declares the operations."""
    config.add_api_view(
        read_audit,
        context=Root,
        name="audit",
        operation_id="readAudit",
        summary="Read the audit log, newest first",
        role=ADMIN_SOMEWHERE,
        query=schemas.AuditQuery(),
        response=domain.AuditPage,
    )
