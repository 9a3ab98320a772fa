"""The page of all identities."""

from __future__ import annotations

from secretsvc.db.paging import Window
from secretsvc.identity import domain, schemas
from secretsvc.identity.resources import Identities
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import cursor_of
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.views import ADMIN_SOMEWHERE

#: How many identities stand on one page.
LIMIT = 100


def identities_page(_context: Identities, request: ServiceRequest) -> object:
    """Everyone who ever came with a valid assertion or was announced, or those that a text picks out."""
    text = parse_query(request.environ).get("q", "")
    query = validate(schemas.IdentityFilter(), {"q": text})
    page = domain.list_identities(request.call, Window(LIMIT, cursor_of(request)), query["q"])
    return {"identities": page.items, "next_cursor": page.next_cursor, "text": query["q"]}


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page."""
    config.add_page(
        identities_page,
        context=Identities,
        template="secretsvc.identity:templates/identities.pt",
        role=ADMIN_SOMEWHERE,
    )
    config.add_navigation("People and tokens", "/identities", role=ADMIN_SOMEWHERE, order=30, icon="users")
