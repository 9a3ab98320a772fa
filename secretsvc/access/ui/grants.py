"""The pages of grants, and of unknown identities; what every form about grants is read with."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer

from secretsvc.access import schemas
from secretsvc.access.api import terms_of
from secretsvc.access.domain import grants as domain
from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain import unknown
from secretsvc.access.domain.named_grants import NamedGrant
from secretsvc.access.resources import Access, Grants
from secretsvc.access.rules.grants import SOON_MS, Grant, Terms
from secretsvc.access.rules.holders import Holder
from secretsvc.db.paging import Window
from secretsvc.kernel.authorization import is_expired
from secretsvc.kernel.errors import Conflict, ValidationFailed
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.pages import Drawn, cursor_of, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Body
from secretsvc.web.tree import PAGES, Node
from secretsvc.web.views import ADMIN_SOMEWHERE

#: How many grants stand on one page.
LIMIT = 100
EVERYWHERE = "*"
DATE_FORMATS = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")


def grants_page(_context: Grants | Access, request: ServiceRequest) -> object:
    """The grants at scopes that the caller administers, with a form for another."""
    call = request.call
    page = grant_domain.named_grants(call, Window(LIMIT, cursor_of(request)))
    return {
        "grants": page.items,
        "next_cursor": page.next_cursor,
        "twin": _twin(request),
        "scopes": grant_domain.grantable_scopes(call),
        "holders": grant_domain.known_holders(call),
    }


def create_grant(_context: Grants, request: ServiceRequest) -> object:
    """Grants a role and leads on to whoever holds it now."""
    granted = grant_domain.grant_by_name(request.call, *_asked(request))
    return see_other(holders_page(granted), "granted")


def _twin(request: ServiceRequest) -> NamedGrant | None:
    """What is there already, where the form was refused because of it."""
    if not isinstance(request.form.error, Conflict):
        return None
    return grant_domain.same_grant(request.call, *_asked(request))


def _asked(request: ServiceRequest) -> tuple[Holder, Terms]:
    return read_holder(request.form, schemas.HolderForm()), read_terms(request)


def remove_grant(context: Node, request: ServiceRequest) -> object:
    """Removes the chosen grant and leads back to where it was chosen."""
    return remove_chosen(request, context.path(PAGES))


def remove_grant_from_list(_context: Access, request: ServiceRequest) -> object:
    """The same in the list, below which a name would be a grant's id."""
    return remove_chosen(request, "/grants")


def remove_chosen(request: ServiceRequest, back: str) -> object:
    """Removes the chosen grant and leads back to a path."""
    domain.delete_grant(request.call, chosen(request.form))
    return see_other(back, "removed")


def unknown_page(_context: Access, request: ServiceRequest) -> object:
    """Who was denied without holding anything."""
    return {"unknown": unknown.unknown_identities(request.call)}


def chosen(form: Form) -> UUID:
    """The id of the row whose button was pressed. Raises `ValidationFailed`."""
    found: UUID = form.read(schemas.ChosenForm(), "chosen")["chosen"]
    return found


def read_holder(form: Form, schema: Body) -> Holder:
    """Whom a form names. Raises `ValidationFailed`."""
    body = form.read(schema, "holder_kind", "holder")
    return Holder(body["holder_kind"], body["holder"])


def read_terms(request: ServiceRequest) -> Terms:
    """What a form grants and where. Raises `ValidationFailed`."""
    form = request.form
    typed = {"role": form["role"], "expires_at": read_expiry(request)}
    return terms_of(form.read(schemas.create_group_grant_body(), **typed, **_scope(form["scope"])))


def read_expiry(request: ServiceRequest) -> int | None:
    """When a form has a grant end, in epoch milliseconds, None for never.

    Raises `ValidationFailed`, also for what is past: nobody means to type a grant that holds nothing.
    """
    expires_at = _moment(request.form["expires_at"].strip())
    if is_expired(expires_at, request.call.now):
        raise ValidationFailed.at("expires_at", "Must lie in the future; it is read as UTC.")
    return expires_at


def holders_page(granted: Grant) -> str:
    """The path of the page of whoever holds a grant."""
    if granted.group_id is not None:
        return f"/groups/{granted.group_id}"
    return f"/identities/{granted.identity_id}"


def _scope(text: str) -> dict[str, str]:
    """A scope as the choice of scopes writes it: everywhere, a project, or a project and its environment."""
    if not text:
        raise ValidationFailed.at("scope", "Choose where the grant is to hold.")
    if text == EVERYWHERE:
        return {"scope_type": "global"}
    project, slash, environment = text.partition("/")
    if slash:
        return {"scope_type": "environment", "project": project, "environment": environment}
    return {"scope_type": "project", "project": project}


def _moment(text: str) -> int | None:
    """Epoch milliseconds of a date and time that were typed as UTC, None of none."""
    if not text:
        return None
    for form in DATE_FORMATS if text.isascii() else ():
        try:
            return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()) * 1000
        except ValueError:
            continue
    raise ValidationFailed.at("expires_at", "Must be a date and a time, as in 2030-12-31T18:00.")


def add_macros(event: BeforeRender) -> None:
    """Gives every template the macros of access and what they need: other packages show grants too."""
    if event["renderer_name"].endswith(".pt"):
        event["soon"], event["is_expired"] = SOON_MS, is_expired
        event["access"] = get_renderer("secretsvc.access:templates/access.pt").implementation().macros


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages."""
    config.add_subscriber(add_macros, BeforeRender)
    page: Drawn[Grants] = {"context": Grants, "template": "secretsvc.access:templates/grants.pt"}
    config.add_page(grants_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(create_grant, role=ADMIN_SOMEWHERE, redraw=grants_page, **page)
    config.add_done("granted", "Granted.")
    config.add_form(
        remove_grant_from_list,
        context=Access,
        name="remove-grant",
        template=page["template"],
        role=ADMIN_SOMEWHERE,
        redraw=grants_page,
    )
    config.add_page(
        unknown_page,
        context=Access,
        name="unknown-identities",
        template="secretsvc.access:templates/unknown.pt",
        role=ADMIN_SOMEWHERE,
    )
    config.add_navigation("Grants", "/grants", role=ADMIN_SOMEWHERE, order=50, icon="shield-check")
