"""The home page: projects, what the caller has to attend to, and the search."""

from __future__ import annotations

from contextlib import suppress

from secretsvc.access.rules.grants import SOON_MS
from secretsvc.home import schemas
from secretsvc.home.domain.search import KINDS, search
from secretsvc.home.domain.waiting import count_unknown_identities, expiring_grants
from secretsvc.kernel.authorization import Role, administered
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import ServerMisconfigured, ValidationFailed
from secretsvc.keyring.domain import key_ring
from secretsvc.projects.ui import project_list
from secretsvc.tokens.domain import SOON_MS as TOKENS_SOON_MS
from secretsvc.tokens.domain import EndingToken, ending_tokens
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_codes import status_of
from secretsvc.web.forms import Form
from secretsvc.web.navigation import MAIN
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY

#: Denials of the last days, in milliseconds, wait for somebody to grant something.
LATELY = 7 * 86_400_000
#: How many of the former stand on the page.
SHOWN = 20
#: How many of each kind that a search found.
FOUND = 50


def home(_context: Root, request: ServiceRequest) -> object:
    """What a search found, or the caller's projects and what waits for it."""
    text = parse_query(request.environ).get("q", "").strip()
    request.form = Form({"q": text})
    try:
        if text:
            return {"found": _found(request.call, text), "waiting": None}
    except ValidationFailed as error:
        request.form.refuse(error)
        request.response.status_int = status_of(request, error)
    return {"found": None, "waiting": _waiting(request.call), **project_list(request)}


def _found(call: Call, text: str) -> dict[str, object]:
    """What was found by its kind, and whether of one kind there is more. Raises `ValidationFailed`."""
    query = validate(schemas.PageQuery(), {"text": text})
    found = search(call, query["text"], FOUND + 1)
    of_kind = {kind: [one for one in found if one.kind == kind] for kind in KINDS}
    cut = any(len(some) > FOUND for some in of_kind.values())
    return {kind: some[:FOUND] for kind, some in of_kind.items()} | {"cut": cut}


def _waiting(call: Call) -> dict[str, object] | None:
    """What waits for the caller where it may see it; None for those who administer nothing."""
    if next(administered(call.snapshot), None) is None:
        return None
    expiring = expiring_grants(call, SOON_MS, SHOWN + 1)
    waiting: dict[str, object] = {
        "unknown": count_unknown_identities(call, call.now - LATELY),
        "expiring": expiring[:SHOWN],
        "more": len(expiring) > SHOWN,
        "tokens": [],
        "more_tokens": False,
        "ring": None,
        "no_ring": False,
    }
    if call.snapshot.global_role is Role.ADMIN:
        tokens = _ending_tokens(call)
        waiting |= {"tokens": tokens[:SHOWN], "more_tokens": len(tokens) > SHOWN}
        try:
            waiting["ring"] = key_ring(call)
        except ServerMisconfigured:
            waiting["no_ring"] = True
    return waiting


def _ending_tokens(call: Call) -> list[EndingToken]:
    with suppress(ServerMisconfigured):
        if call.settings.service_tokens:
            return ending_tokens(call, TOKENS_SOON_MS, SHOWN + 1)
    return []


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page."""
    config.add_page(home, context=Root, template="secretsvc.home:templates/home.pt", role=ANY_IDENTITY)
    config.add_navigation("Home", "/", order=10, icon="house", section=MAIN)
