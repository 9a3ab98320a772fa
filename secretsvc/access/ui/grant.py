"""The page of one grant: its role and its end, to be changed or renewed; and its removal."""

from __future__ import annotations

from secretsvc.access import schemas
from secretsvc.access.domain import grants as domain
from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.resources import Grant
from secretsvc.access.rules.grant_names import NamedGrant
from secretsvc.access.rules.grants import Terms
from secretsvc.access.rules.holders import GROUP, FoundHolder
from secretsvc.access.ui.expiry_field import SPANS, read_end
from secretsvc.access.ui.grant_actions import holders_page
from secretsvc.access.ui.grant_panel import ROLES
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import Conflict, NotFound
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import ADMIN_ANYWHERE


def grant_page(context: Grant, request: ServiceRequest) -> object:
    """A grant with a form that is drawn with its present terms."""
    found = grant_domain.changeable_grant(request.call, context.id)
    return {
        "named": found.named,
        "may_raise": found.may_raise,
        "holders_page": holders_page(found.named.grant),
        "twin": _twin(request, found.named),
        "roles": ROLES,
        "spans": SPANS,
        "removing": found.named if "remove" in parse_query(request.environ) else None,
    }


def change_grant(context: Grant, request: ServiceRequest) -> object:
    """Changes what was typed otherwise than it was drawn, and leads on to whoever holds the grant.

    What somebody else changed in the meantime stays, unless it was typed anew here.
    """
    form = request.form
    form.label("expires_at", "Until")
    typed = {"role": form["role"], "expires_at": read_end(request)}
    drawn = dict(form.under("drawn."))
    changed = {name: value for name, value in typed.items() if form[name] != drawn.get(name)}
    if form["until"]:
        changed["expires_at"] = typed["expires_at"]
    changes = form.read(schemas.UpdateGrantBody(), **changed)
    granted = domain.update_grant(request.call, context.id, changes)
    return redirect_after_form(holders_page(granted), "saved" if changes else "unchanged")


def remove_grant(context: Grant, request: ServiceRequest) -> object:
    """Removes it and leads on to whoever held it."""
    try:
        found = grant_domain.changeable_grant(request.call, context.id)
        domain.delete_grant(request.call, context.id)
    except NotFound:
        # Whose it was is not known any more.
        return redirect_after_form("/grants", "nothing-to-remove")
    return redirect_after_form(holders_page(found.named.grant), "grant-removed")


def _twin(request: ServiceRequest, named: NamedGrant) -> NamedGrant | None:
    """The other grant of the holder, where the form was refused because of it."""
    if not isinstance(request.form.error, Conflict):
        return None
    granted, holder = named.grant, named.holder
    holder_id = granted.group_id if holder.kind == GROUP else granted.identity_id
    if holder_id is None:
        return None
    held_by = FoundHolder(holder.kind, holder.name, holder_id, named.label)
    scope = ScopePath(granted.project, granted.environment)
    return grant_domain.same_grant(request.call, held_by, Terms(scope, Role(request.form["role"])))


def includeme(config: ServiceConfigurator) -> None:
    page: PageOptions[Grant] = {"context": Grant, "template": "secretsvc.access:templates/grant.pt"}
    config.add_page(grant_page, role=ADMIN_ANYWHERE, **page)
    config.add_form(change_grant, role=ADMIN_ANYWHERE, rerender=grant_page, **page)
    config.add_form(remove_grant, name="remove", role=ADMIN_ANYWHERE, rerender=grant_page, **page)
