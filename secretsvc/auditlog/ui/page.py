"""The page of the audit log: questions and filters in its URL, pages both ways, activity over time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

from secretsvc.auditlog import domain, schemas
from secretsvc.auditlog.domain import AuditBrowse
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.auditlog.ui import labels
from secretsvc.auditlog.ui.chart import draw
from secretsvc.auditlog.ui.facts import Fact, facts_of
from secretsvc.auditlog.ui.sentences import RecordSentence, SentenceRenderer
from secretsvc.auditlog.ui.url import FILTERS, PATH, SCOPE, AuditUrl
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import NotFound, ValidationFailed
from secretsvc.projects.resources import Project
from secretsvc.sealedlog.resources import Audit
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_codes import status_of
from secretsvc.web.forms import Form
from secretsvc.web.pages import time_format
from secretsvc.web.pages.navigation import MAIN
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Values, validate
from secretsvc.web.views import ADMIN_ANYWHERE


class Day(NamedTuple):
    """A day's records on a page, newest first, each with its facts."""

    name: str
    told: list[tuple[RecordSentence, list[Fact]]]


def audit_page(_context: Audit, request: ServiceRequest) -> object:
    """What the caller may audit of what the URL asks for."""
    audit_url = AuditUrl(parse_query(request.environ))
    request.form = Form(audit_url.fields)
    for name, label in FILTERS.items():
        request.form.label(name, label)
    actions = sorted(request.registry.audit_actions)
    shown = {"audit_url": audit_url, "labels": labels, "actions": actions, "page": None}
    try:
        asked = asked_for(validate(schemas.AuditPageQuery(), audit_url.query))
        page = domain.browse_audit(request.call, asked)
    except (NotFound, ValidationFailed) as error:
        request.form.refuse(error)
        # A place that was not found is not told from one that the caller may not audit.
        audit_url.refuse(SCOPE if isinstance(error, NotFound) else [issue.path for issue in error.issues])
        request.response.status_int = status_of(request, error)
        return shown
    days = [*_days(page, request.registry.audit_actions, audit_url, request.call.now)]
    return shown | {"page": page, "days": days, "chart": draw(page.activity.buckets)}


def asked_for(query: Values) -> AuditFilter:
    """The filter of a query, whose question stands for several actions."""
    found: dict[str, Any] = dict(query)
    show = found.pop("show", None)
    return AuditFilter(**found, actions=schemas.SEVERAL[show] if show else ())


def _days(page: AuditBrowse, actions: Any, url: AuditUrl, now: int) -> Iterable[Day]:
    teller, today = SentenceRenderer(actions, page.names), time_format.moment(now).date()
    for date, items in groupby(page.items, lambda one: time_format.moment(one.created_at).date()):
        near = {0: "Today, ", 1: "Yesterday, "}.get((today - date).days, "")
        year = "" if date.year == today.year else f" {date.year}"
        told = [(teller.tell(one), facts_of(one, page.names, url)) for one in items]
        yield Day(f"{near}{date:%-d %B}{year}", told)


def _project_audit(node: Project) -> str:
    return f"{PATH}?{urlencode({'project': node.address.project})}"


def _requests_audit(request: ServiceRequest, request_id: str) -> str:
    # The index is by time: of all that was ever recorded, only the last minute is looked through.
    return f"{PATH}?{urlencode({'request_id': request_id, 'since': request.call.now - 60_000})}"


def includeme(config: ServiceConfigurator) -> None:
    config.add_page(
        audit_page,
        context=Audit,
        template="secretsvc.auditlog:templates/audit.pt",
        role=ADMIN_ANYWHERE,
    )
    config.add_navigation("Audit log", PATH, role=ADMIN_ANYWHERE, order=60, icon="scroll-text", section=MAIN)
    config.add_tab(
        "Activity", context=Project, role=Role.ADMIN, elsewhere=_project_audit, order=45, icon="clock"
    )
    config.add_error_link("Find it in the audit log", _requests_audit, role=ADMIN_ANYWHERE)
