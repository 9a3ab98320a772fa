"""What filters of the audit log find, as a file: CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

import csv
import io

import orjson
from pyramid.response import Response

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.domain import AuditRecord
from secretsvc.auditlog.ui.page import asked_for
from secretsvc.auditlog.ui.url import AuditUrl
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import time_format
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ADMIN_ANYWHERE

COLUMNS = (
    "time", "action", "outcome", "actor", "kind", "project_id", "environment_id", "reason", "detail",
    "request_id", "client_address", "id",
)  # fmt: skip
#: What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def audit_csv(_context: Root, request: ServiceRequest) -> object:
    """A line a record, newest first; its cells are never formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in _row(record)] for record in _found(request))
    return _file(text.getvalue().encode(), "text/csv", "csv")


def audit_json_lines(_context: Root, request: ServiceRequest) -> object:
    """A record of the API a line, newest first."""
    lines = (orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in _found(request))
    return _file(b"".join(lines), "application/jsonl", "jsonl")


def _found(request: ServiceRequest) -> list[AuditRecord]:
    query = AuditUrl(parse_query(request.environ)).query
    return domain.export_audit(request.call, asked_for(validate(schemas.AuditPageQuery(), query)))


def _row(record: AuditRecord) -> tuple[object, ...]:
    actor, detail = record.actor, record.detail
    return (
        time_format.iso(record.created_at), record.action, record.outcome, actor.subject, actor.kind,
        record.project_id, record.environment_id, record.reason,
        None if detail is None else orjson.dumps(detail).decode(), record.request_id,
        record.client_address, record.id,
    )  # fmt: skip


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _file(body: bytes, media: str, suffix: str) -> Response:
    disposition = f'attachment; filename="audit.{suffix}"'
    answer = RelativeResponse(body=body, content_type=media, charset="utf-8")
    answer.headers["Content-Disposition"] = disposition
    return answer


def includeme(config: ServiceConfigurator) -> None:
    config.add_page(audit_csv, context=Root, name="audit.csv", role=ADMIN_ANYWHERE)
    config.add_page(audit_json_lines, context=Root, name="audit.jsonl", role=ADMIN_ANYWHERE)
