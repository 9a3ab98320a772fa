"""The home page: what one sees, what waits for one, and the search."""

from __future__ import annotations

from typing import Any

from secretsvc.access.rules.grants import SOON_MS
from secretsvc.home import schemas
from secretsvc.home.domain.search import search
from secretsvc.home.domain.waiting import count_unknown_identities, expiring_grants
from secretsvc.kernel.authorization import Role, administered
from secretsvc.kernel.errors import ServerMisconfigured, ValidationFailed
from secretsvc.keyring.domain import key_ring
from secretsvc.projects.ui import project_list
from secretsvc.web.errors import STATUS
from secretsvc.web.forms import Form
from secretsvc.web.query import parse_query
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY

#: Denials of the last days, in milliseconds, wait for somebody to grant something.
LATELY = 7 * 86_400_000
#: How many of the former stand on the page.
SHOWN = 20


def home(_context: Root, request: Any) -> Any:
    """What a search found, or the caller's projects and what waits for it."""
    text = parse_query(request.environ).get("q", "").strip()
    request.form = Form({"q": text})
    try:
        found = search(request.call, **validate(schemas.SearchQuery(), {"text": text}))
    except ValidationFailed as error:
        request.form.refuse(error)
        request.response.status_int = STATUS[error.code]
        text = ""
    if text:
        return {"found": found, "waiting": None}
    return {"found": None, "waiting": _waiting(request.call), **project_list(request)}


def _waiting(call: Any) -> dict[str, Any] | None:
    """What waits for the caller where it may see it; None for those who administer nothing."""
    if next(administered(call.snapshot), None) is None:
        return None
    expiring = expiring_grants(call, SOON_MS, SHOWN + 1)
    waiting = {
        "unknown": count_unknown_identities(call, call.now - LATELY),
        "expiring": expiring[:SHOWN],
        "more": len(expiring) > SHOWN,
        "ring": None,
        "no_ring": False,
    }
    if call.snapshot.global_role is Role.ADMIN:
        try:
            waiting["ring"] = key_ring(call)
        except ServerMisconfigured:
            waiting["no_ring"] = True
    return waiting


def includeme(config: Any) -> None:
    """Declares the page."""
    config.add_page(home, context=Root, template="secretsvc.home:templates/home.pt", role=ANY_IDENTITY)
    config.add_navigation("Home", "/", order=10)
