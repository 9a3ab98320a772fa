"""The pages of identities: the caller's own, and the list of all."""

from __future__ import annotations

from typing import Any

from secretsvc.access.domain import own_permissions
from secretsvc.db.paging import Window
from secretsvc.identity import domain, schemas
from secretsvc.identity.resources import Identities
from secretsvc.web.pages import cursor_of
from secretsvc.web.query import parse_query
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY

#: How many identities stand on one page.
LIMIT = 100


def whoami_page(_context: Root, request: Any) -> Any:
    """Who the caller is, and what it may do by which grants."""
    return {"effective": own_permissions(request.call), "global_role": request.call.snapshot.global_role}


def identities_page(_context: Identities, request: Any) -> Any:
    """Everyone who ever came with a valid assertion, or those that a text picks out."""
    text = parse_query(request.environ).get("q", "")
    query = validate(schemas.IdentityFilter(), {"q": text})
    page = domain.list_identities(request.call, Window(LIMIT, cursor_of(request)), query["q"])
    return {"identities": page.items, "next_cursor": page.next_cursor, "text": query["q"]}


def includeme(config: Any) -> None:
    """Declares the pages."""
    templates = "secretsvc.identity:templates"
    config.add_page(
        whoami_page, context=Root, name="whoami", template=f"{templates}/whoami.pt", role=ANY_IDENTITY
    )
    config.add_page(
        identities_page,
        context=Identities,
        template=f"{templates}/identities.pt",
        role=ADMIN_SOMEWHERE,
    )
    config.add_navigation("Identities", "/identities", role=ADMIN_SOMEWHERE, order=30)
