"""The home page: what needs attention, projects, what happened lately; first steps where there is none."""

from __future__ import annotations

from typing import Any

from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.auditlog.ui.recent import recent
from secretsvc.db.paging import Window
from secretsvc.home.domain.overview import ProjectOverview, is_read_by_services, overview
from secretsvc.home.domain.recent_usage import recently_used
from secretsvc.home.ui.attention import attention
from secretsvc.kernel.authorization import ADMIN_EVERYWHERE, GLOBAL, Role, admin_grants, holds
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.origins import PORTS
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.ui import FIRST_ENVIRONMENTS
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import cursor_of
from secretsvc.web.pages.html_helpers import database
from secretsvc.web.pages.navigation import MAIN
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY

#: How many projects stand on one page, and how many records.
PROJECTS, RECENT = 100, 7


def home(_context: Root, request: ServiceRequest) -> object:
    """The caller's projects and what needs it, or the first steps while there is no project."""
    call, cursor = request.call, cursor_of(request)
    page = overview(call, Window(PROJECTS, cursor))
    creates = holds(call.snapshot, Role.WRITER, GLOBAL)
    shown: dict[str, Any] = {"projects": page.items, "next_cursor": page.next_cursor, "creates": creates}
    if creates and ("setup" in parse_query(request.environ) or not (page.items or cursor)):
        request.override_renderer = "secretsvc.home:templates/first-run.pt"
        return shown | _first_run(call, page.items)
    return shown | {
        "attention": attention(call, page.items),
        "recent": _recent(request),
        "used": recently_used(call),
    }


def _recent(request: ServiceRequest) -> list[Any] | None:
    """The newest records as sentences; None for those who may audit nothing."""
    if next(admin_grants(request.call.snapshot), None) is None:
        return None
    return recent(request, AuditFilter(limit=RECENT))


def _first_run(call: UseCaseContext, projects: list[ProjectOverview]) -> dict[str, Any]:
    """What of the first steps is done, and what is known of this installation without asking for it."""
    try:
        kid = call.ring.active_kid
    except ServerMisconfigured:
        kid = None
    first = projects[0] if projects else None
    environments = first.environments if first else []
    return {
        "project": first,
        "environment": environments[0] if environments else None,
        "has_keys": any(one.keys for one in projects),
        "is_read": bool(projects) and is_read_by_services(call),
        "origin": _origin(call),
        "bootstrapped": ADMIN_EVERYWHERE in call.snapshot.grants,
        "is_admin": call.snapshot.global_role is Role.ADMIN,
        "kid": kid,
        "database": database(call.connection.dialect.name),
        "suggested": FIRST_ENVIRONMENTS,
    }


def _origin(call: UseCaseContext) -> str:
    """Where the service is reached, as its operator says; a client's own word for it is not repeated."""
    try:
        origin = call.settings.public_origin
    except ServerMisconfigured:
        origin = None
    if origin is None:
        return "https://…"
    port = "" if origin.port == PORTS[origin.scheme] else f":{origin.port}"
    return f"{origin.scheme}://{origin.host}{port}"


def includeme(config: ServiceConfigurator) -> None:
    config.add_page(home, context=Root, template="secretsvc.home:templates/home.pt", role=ANY_IDENTITY)
    config.add_navigation("Home", "/", order=10, icon="house", section=MAIN)
