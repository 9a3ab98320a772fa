"""The page of the audit log: filters in its URL, pages in both directions, activity over time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.domain import AuditRecord
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.auditlog.ui import labels
from secretsvc.auditlog.ui.chart import draw
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import NotFound, ValidationFailed
from secretsvc.projects.resources import Environment, Project
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_codes import status_of
from secretsvc.web.forms import Form
from secretsvc.web.navigation import MAIN
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ADMIN_SOMEWHERE

PATH = "/audit"
#: The filters, in the order of the form and the chips.
FILTERS = {
    "project": "Project",
    "environment": "Environment",
    "key": "Key",
    "actor": "Actor",
    "action": "Action",
    "outcome": "Outcome",
    "since": "Since",
    "until": "Until",
    "request_id": "Request id",
}
#: How far around a record its request may have left others, milliseconds.
AROUND = 60_000


class Chip(NamedTuple):
    """A filter in force, and the URL without it."""

    label: str
    text: str
    without: str


class AuditUrl:
    """The URL of a page of the log: what it asks for, and the URLs that lead on."""

    def __init__(self, query: dict[str, str]) -> None:
        self.query = {name: value.strip() for name, value in query.items() if value.strip()}

    def path(self, **changes: object) -> str:
        """The first page with some filters changed; None takes one away."""
        return self._path(self.query | {"cursor": None, "after": None} | changes)

    def around(self, record: AuditRecord) -> str:
        """All that the request of a record has left."""
        moment = record.created_at
        return self._path(
            {"request_id": record.request_id, "since": max(moment - AROUND, 0), "until": moment + AROUND}
        )

    @property
    def fields(self) -> dict[str, str]:
        """What the form shows, times as its fields have them."""
        times = {name: _local(self.query[name]) for name in ("since", "until") if name in self.query}
        return self.query | times

    @property
    def chips(self) -> list[Chip]:
        """The filters in force."""
        shown = {name: value for name, value in self.fields.items() if name in FILTERS}
        if "outcome" in shown:
            shown["outcome"] = labels.OUTCOMES.get(shown["outcome"], shown["outcome"])
        return [
            Chip(label, shown[name], self.path(**{name: None}))
            for name, label in FILTERS.items()
            if name in shown
        ]

    @staticmethod
    def _path(query: dict[str, object]) -> str:
        kept = {name: value for name, value in query.items() if value is not None}
        return f"{PATH}?{urlencode(kept)}" if kept else PATH


def audit_page(_context: Root, request: ServiceRequest) -> object:
    """What the caller may audit of what the URL asks for."""
    audit_url = AuditUrl(parse_query(request.environ))
    request.form = Form(audit_url.fields)
    actions = sorted(request.registry.audit_actions)
    shown = {"audit_url": audit_url, "labels": labels, "actions": actions, "page": None, "chart": None}
    try:
        asked = AuditFilter(**validate(schemas.AuditPageQuery(), audit_url.query))
        page = domain.browse_audit(request.call, asked)
    except (NotFound, ValidationFailed) as error:
        request.form.refuse(error)
        request.response.status_int = status_of(request, error)
        return shown
    return shown | {"page": page, "chart": draw(page.activity.buckets)}


def _local(text: str) -> str:
    """Epoch milliseconds as a `datetime-local` field has them; any other text as it stands."""
    if not (text.isascii() and text.isdigit()):
        return text
    try:
        moment = datetime.fromtimestamp(int(text) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return text
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _project_audit(node: Project) -> str:
    return f"{PATH}?{urlencode({'project': node.address.project})}"


def _environment_audit(node: Environment) -> str:
    at = node.address
    return f"{PATH}?{urlencode({'project': at.project, 'environment': at.environment})}"


def _requests_audit(request: ServiceRequest, request_id: str) -> str:
    # The index is by time: of all that was ever recorded, only the last minute is looked through.
    return f"{PATH}?{urlencode({'request_id': request_id, 'since': request.call.now - 60_000})}"


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page and the ways to it."""
    config.add_page(
        audit_page,
        context=Root,
        name="audit",
        template="secretsvc.auditlog:templates/audit.pt",
        role=ADMIN_SOMEWHERE,
    )
    config.add_navigation("Audit log", PATH, role=ADMIN_SOMEWHERE, order=60, icon="scroll-text", section=MAIN)
    config.add_tab(
        "Activity", context=Project, role=Role.ADMIN, elsewhere=_project_audit, order=45, icon="clock"
    )
    config.add_tab("Activity", context=Environment, role=Role.ADMIN, elsewhere=_environment_audit, order=45)
    config.add_error_link("Find it in the audit log", _requests_audit, role=ADMIN_SOMEWHERE)
