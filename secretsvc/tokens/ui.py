"""The page of a service's tokens, which is there where `SERVICE_TOKENS` is on."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from secrets import token_urlsafe

import orjson

from secretsvc.identity.rules import find_identity
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import Conflict, ServerMisconfigured, ValidationFailed
from secretsvc.tokens import domain, schemas
from secretsvc.tokens.resources import Token, Tokens
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.pages.directives import PageOptions, see_removed
from secretsvc.web.pages.time_format import DAY, typed_time
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES

#: How long a token may be in force: the value, what it is called, and the length in milliseconds.
SPANS = (
    ("1w", "1 week", 7 * DAY),
    ("3m", "3 months", 91 * DAY),
    ("1y", "1 year", 365 * DAY),
)
#: What names an attempt to make a token is as long as a token.
ATTEMPT_BYTES = 32
TAKEN = "A token of this name is in force already. Take another name, or remove that one first."
_LENGTHS = {value: length for value, _, length in SPANS}


def tokens_page(context: Tokens, request: ServiceRequest) -> dict[str, object]:
    """The tokens of a service, with the panel for another."""
    _ = request.call.settings.service_tokens
    call, query, form = request.call, parse_query(request.environ), request.form
    tokens = domain.list_tokens(call, context.identity_id)
    asked = query.get("remove")
    return {
        "holder": find_identity(call, context.identity_id),
        "tokens": tokens,
        "path": context.path(PAGES),
        "soon": domain.SOON_MS,
        "spans": SPANS,
        # What a person cannot have is not to be typed again.
        "making": not isinstance(form.error, Conflict) and ("new" in query or "name" in form.values),
        "attempt": token_urlsafe(ATTEMPT_BYTES),
        "made": None,
        "removing": next((one for one in tokens if str(one.id) == asked), None),
    }


def create_token(context: Tokens, request: ServiceRequest) -> object:
    """Makes a token and shows it, this once. Raises `ValidationFailed` for the name of another in force:
    whoever comes back and sends the form again would not know that it makes one more.
    """
    _ = request.call.settings.service_tokens
    form, call = request.form, request.call
    form.label("expires_at", "Until")
    end = {"expires_at": _end(form, call.now)}
    body = form.read(schemas.CreateTokenBody(), "name", **end)
    made = domain.create_token(call, context.identity_id, **body, attempt=_attempt(form))
    others = (one for one in domain.list_tokens(call, context.identity_id) if one.id != made.id)
    if any(one.name == made.name and one.expires_at > call.now for one in others):
        raise ValidationFailed.at("name", TAKEN)
    return {**tokens_page(context, request), "made": made, "making": False}


def remove_token(context: Token, request: ServiceRequest) -> object:
    """Removes a token and leads back to the others."""
    _ = request.call.settings.service_tokens
    remove = partial(domain.delete_token, request.call, context.identity_id, token_id=context.id)
    return see_removed(f"/identities/{context.identity_id}/tokens", "token-removed", remove)


def _attempt(form: Form) -> bytes:
    """By what a form is known that is sent twice as it is; nothing for one that names no attempt."""
    typed = {name: form[name] for name in ("attempt", "name", "until", "expires_at")}
    return orjson.dumps(typed) if typed["attempt"] else b""


def _end(form: Form, now: int) -> int:
    """When a token is to end, in epoch milliseconds. Raises `ValidationFailed`."""
    typed = form["expires_at"].strip()
    if typed:
        return typed_time(typed)
    if form["until"] not in _LENGTHS:
        raise ValidationFailed.at("expires_at", "Choose one of the spans, or give an exact time.")
    return now + _LENGTHS[form["until"]]


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page and its forms, unless service tokens are switched off."""
    config.add_flash_message("token-removed", "The service token was removed.")
    config.add_assets("secretsvc.tokens")
    with suppress(ServerMisconfigured):
        if not config.registry.service_settings.service_tokens:
            return
    page: PageOptions[Tokens] = {"context": Tokens, "template": "secretsvc.tokens:templates/tokens.pt"}
    config.add_page(tokens_page, role=Role.ADMIN, **page)
    config.add_form(create_token, role=Role.ADMIN, rerender=tokens_page, **page)
    config.add_form(remove_token, context=Token, name="remove", role=Role.ADMIN)
