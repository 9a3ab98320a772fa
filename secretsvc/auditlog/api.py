"""The API of the audit log."""

from __future__ import annotations

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.sealedlog.resources import Audit
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import ADMIN_ANYWHERE, api_view


@api_view(
    operation_id="readAudit",
    summary="Read the audit log, newest first, or what is sealed of it in its order",
    role=ADMIN_ANYWHERE,
    query=schemas.AuditQuery(),
)
def read_audit(_context: Audit, request: ServiceRequest) -> domain.AuditPage:
    """`GET /audit`."""
    query = dict(request.query_values)
    read = domain.read_sealed if query.pop("order", None) else domain.read_audit
    return read(request.call, AuditFilter(**query))
