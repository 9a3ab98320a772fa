"""The page "Access" of a project and of an environment: who holds which role there, and through what."""

from __future__ import annotations

from secretsvc.access.domain import overview
from secretsvc.access.domain.unknown_identities import turned_away_from
from secretsvc.access.ui import grant_panel
from secretsvc.access.ui.access_table import AccessTable
from secretsvc.access.ui.grant_actions import add_grant_forms
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.projects.resources import Environment, Project
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node

NAME = "access"


def access_page(context: Node, request: ServiceRequest) -> object:
    """Everybody who holds a role here; with the panel for another, and with who was turned away."""
    call, at, query = request.call, context.address, parse_query(request.environ)
    table = AccessTable(call, at, overview.access_to(call, at), query)
    return {
        "table": table,
        "segments": table.segments(_path(context)),
        "path": _path(context),
        "scope_path": context.path(PAGES),
        "audit": _audit(at),
        "turned_away": turned_away_from(call, at),
        "giving": grant_panel.opened(request, action=_path(context), inside=True),
        "removing": table.changeable(request.form["chosen"] or query.get("remove", "")),
    }


def _audit(at: ScopePath) -> dict[str, str]:
    """What the address of the log has for a scope."""
    slugs = {"project": at.project, "environment": at.environment}
    return {name: slug for name, slug in slugs.items() if slug}


def give_access(context: Node, request: ServiceRequest) -> object:
    """Gives a role here."""
    return grant_panel.give(request, _path(context))


def _path(context: Node) -> str:
    return f"{context.path(PAGES)}/{NAME}"


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page of either scope."""
    for context in (Project, Environment):
        page: PageOptions[Node] = {"context": context, "template": "secretsvc.access:templates/scope.pt"}
        config.add_page(access_page, name=NAME, role=Role.ADMIN, **page)
        config.add_form(give_access, name=NAME, role=Role.ADMIN, rerender=access_page, **page)
        add_grant_forms(config, page, access_page, Role.ADMIN, _path)
        config.add_tab("Access", context=context, name=NAME, role=Role.ADMIN, order=40, icon="shield")
