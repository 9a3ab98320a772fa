"""The list of all grants, and of who was turned away; what every page that shows grants is given."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer

from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain import unknown_identities
from secretsvc.access.resources import Access, Grants
from secretsvc.access.rules.grant_names import NamedGrant
from secretsvc.access.rules.grants import SOON_MS
from secretsvc.access.rules.holders import SUFFIXES
from secretsvc.access.ui import grant_panel
from secretsvc.access.ui.access_table import KIND_LABELS
from secretsvc.access.ui.grant_actions import add_grant_forms
from secretsvc.db.paging import Window
from secretsvc.kernel.authorization import Role, ScopePath, decide, is_expired
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, cursor_of, is_template
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import TextFilter, validate
from secretsvc.web.views import ADMIN_SOMEWHERE

#: How many grants stand on one page.
LIMIT = 100
PATH = "/grants"


def grants_page(_context: Grants | Access, request: ServiceRequest) -> object:
    """The grants at scopes that the caller administers, or those that a text picks out."""
    call, query = request.call, parse_query(request.environ)
    text = validate(TextFilter(), {"q": query.get("q", "")})["q"]
    page = grant_domain.named_grants(call, Window(LIMIT, cursor_of(request)), text)
    return {
        "grants": page.items,
        "text": text,
        "next_cursor": page.next_cursor,
        "giving": grant_panel.opened(request, action=PATH),
        "removing": removing(request, page.items),
    }


def create_grant(_context: Grants, request: ServiceRequest) -> object:
    """Gives a role and leads back to the list."""
    return grant_panel.give(request, PATH)


def removing(request: ServiceRequest, grants: Sequence[NamedGrant]) -> NamedGrant | None:
    """The grant of a list that the address, or a refused form, asks to remove."""
    asked = request.form["chosen"] or parse_query(request.environ).get("remove")
    return next((one for one in grants if str(one.grant.id) == asked), None)


def turned_away_page(_context: Access, request: ServiceRequest) -> object:
    """Who was denied without holding anything."""
    return {"turned_away": unknown_identities.turned_away(request.call)}


def by_this_very_grant(
    call: UseCaseContext, grant_id: UUID, project: str | None, environment: str | None
) -> bool:
    """Whether the caller administers a scope by one grant alone."""
    at = ScopePath(project, environment)
    rest = decide(call.snapshot.without(grant_id), at)
    return decide(call.snapshot, at) is Role.ADMIN and rest is not Role.ADMIN


def add_macros(event: BeforeRender) -> None:
    """Add the macros of access, and the names that they need, to every template's names."""
    if not is_template(event):
        return
    event["soon"], event["is_expired"], event["suffixes"] = SOON_MS, is_expired, SUFFIXES
    event["labels"] = KIND_LABELS
    event["role_kinds"] = {"reader": "pill line", "writer": "pill", "admin": "pill accent"}
    event["by_this_very_grant"] = by_this_very_grant
    for name in ("access", "granting"):
        template = f"secretsvc.access:templates/{name}.pt"
        event[name] = get_renderer(template).implementation().macros


def includeme(config: ServiceConfigurator) -> None:
    config.add_subscriber(add_macros, BeforeRender)
    template = "secretsvc.access:templates/grants.pt"
    page: PageOptions[Grants] = {"context": Grants, "template": template}
    config.add_page(grants_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(create_grant, role=ADMIN_SOMEWHERE, rerender=grants_page, **page)
    # Below the list itself a name would be a grant's id.
    below: PageOptions[Access] = {"context": Access, "template": template}
    add_grant_forms(config, below, grants_page, ADMIN_SOMEWHERE, lambda _: PATH)
    config.add_page(
        turned_away_page,
        context=Access,
        name="unknown-identities",
        template="secretsvc.access:templates/unknown.pt",
        role=ADMIN_SOMEWHERE,
    )
    config.add_flash_message("granted", "Access was given.")
    config.add_flash_message("extended", "The grant ends later now.")
    config.add_flash_message("grant-removed", "The grant was removed.")
    config.add_navigation("Grants", PATH, role=ADMIN_SOMEWHERE, order=50, icon="shield-check")
