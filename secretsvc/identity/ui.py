"""The page of all identities, with the panels that add a person or a service before they come."""

from __future__ import annotations

from collections.abc import Mapping

from secretsvc.db.paging import Window
from secretsvc.identity import domain, schemas
from secretsvc.identity.resources import Identities
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, cursor_of, redirect_after_form
from secretsvc.web.query import parse_query, with_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ADMIN_SOMEWHERE

#: How many identities stand on one page.
LIMIT = 100
SEGMENTS = (
    ("", "All"),
    ("people", "People"),
    ("services", "Services"),
    ("announced", "Not signed in yet"),
    ("disabled", "Disabled"),
)
KINDS = ("user", "service")


def identities_page(_context: Identities, request: ServiceRequest) -> object:
    """Everyone who ever came with a valid assertion or was announced, or those that a filter picks out."""
    call, asked = request.call, parse_query(request.environ)
    given = {"q": asked.get("q", ""), "show": asked.get("show", "")}
    query = validate(schemas.IdentityFilter(), given)
    window = Window(LIMIT, cursor_of(request))
    page = domain.list_identities(call, window, containing=query["q"], show=query["show"])
    new = request.form["kind"] or asked.get("new")
    return {
        "identities": page.items,
        "next_cursor": page.next_cursor,
        "text": query["q"],
        "show": query["show"],
        "segments": _segments(domain.count_identities(call), query["show"], asked),
        "adding": new if new in KINDS else None,
    }


def _segments(
    counts: Mapping[str, int], show: str, query: Mapping[str, str]
) -> list[tuple[str, str, int, bool, str]]:
    """The filters, as the macro of segments takes them."""
    return [
        (
            label,
            with_query("/identities", query, show=value or None, cursor=None, new=None),
            counts[value],
            value == show,
            "",
        )
        for value, label in SEGMENTS
    ]


def add_identity(context: Identities, request: ServiceRequest) -> object:
    """Adds a person or a service before the first visit, and leads on to them."""
    form = request.form
    form.label("subject", "Name" if form["kind"] == "service" else "Address")
    named = ["display_name"] if form["display_name"].strip() else []
    body = form.read(schemas.create_identity_body(), "kind", "subject", *named)
    made = domain.announce_identity(request.call, **body)
    return redirect_after_form(f"{context.path(PAGES)}/{made.id}", "identity-added")


def includeme(config: ServiceConfigurator) -> None:
    page: PageOptions[Identities] = {
        "context": Identities,
        "template": "secretsvc.identity:templates/identities.pt",
    }
    config.add_page(identities_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(add_identity, role=ADMIN_SOMEWHERE, rerender=identities_page, **page)
    config.add_flash_message(
        "identity-added", "Added to people and tokens. Give a role next: being there gives none."
    )
    config.add_navigation("People and tokens", "/identities", role=ADMIN_SOMEWHERE, order=30, icon="users")
