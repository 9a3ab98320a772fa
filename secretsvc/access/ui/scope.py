"""The page "Access" of a project and of an environment: who can read there, and by which grants."""

from __future__ import annotations

from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain import readers as readers_domain
from secretsvc.access.ui.grants import remove_chosen
from secretsvc.kernel.authorization import Role
from secretsvc.projects.resources import Environment, Project
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import Drawn
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node

NAME = "access"


def access_page(context: Node, request: ServiceRequest) -> object:
    """Everybody who holds a role here, and the grants on this scope and below."""
    at = context.address
    return {
        "readers": readers_domain.readers(request.call, at),
        "grants": grant_domain.grants_within(request.call, at),
    }


def remove_grant(context: Node, request: ServiceRequest) -> object:
    """Removes the chosen grant."""
    return remove_chosen(request, f"{context.path(PAGES)}/{NAME}")


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page of either scope."""
    for context in (Project, Environment):
        page: Drawn[Node] = {"context": context, "template": "secretsvc.access:templates/scope.pt"}
        config.add_page(access_page, name=NAME, role=Role.ADMIN, **page)
        config.add_form(remove_grant, name=NAME, role=Role.ADMIN, redraw=access_page, **page)
        config.add_tab("Access", context=context, name=NAME, role=Role.ADMIN, order=40, icon="shield")
