"""The page of one grant: its role and its time, to be changed or renewed."""

from __future__ import annotations

from secretsvc.access import schemas
from secretsvc.access.domain import grants as domain
from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain.named_grants import NamedGrant
from secretsvc.access.resources import Grant
from secretsvc.access.rules.grants import Terms
from secretsvc.access.ui.grants import holders_page, read_expiry
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.errors import Conflict
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import Drawn, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import ADMIN_SOMEWHERE


def grant_page(context: Grant, request: ServiceRequest) -> object:
    """A grant with a form that is drawn with its present terms."""
    found = grant_domain.changeable_grant(request.call, context.id)
    granted = found.named.grant
    return {
        "here": f"{granted.role} of {found.named.holder.name}",
        "named": found.named,
        "may_raise": found.may_raise,
        "holders_page": holders_page(granted),
        "twin": _twin(request, found.named),
    }


def change_grant(context: Grant, request: ServiceRequest) -> object:
    """Changes what was typed otherwise than it was drawn, and leads on to whoever holds the grant.

    What somebody else changed in the meantime stays, unless it was typed anew here.
    """
    form = request.form
    typed = {"role": form["role"], "expires_at": read_expiry(request)}
    drawn = dict(form.under("drawn."))
    changed = {name: value for name, value in typed.items() if form[name] != drawn.get(name)}
    changes = form.read(schemas.UpdateGrantBody(), **changed)
    granted = domain.update_grant(request.call, context.id, changes)
    return see_other(holders_page(granted), "saved" if changes else "unchanged")


def _twin(request: ServiceRequest, named: NamedGrant) -> NamedGrant | None:
    """The other grant of the holder, where the form was refused because of it."""
    if not isinstance(request.form.error, Conflict):
        return None
    scope = Address(named.grant.project, named.grant.environment)
    return grant_domain.same_grant(request.call, named.holder, Terms(scope, Role(request.form["role"])))


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page and its form."""
    page: Drawn[Grant] = {"context": Grant, "template": "secretsvc.access:templates/grant.pt"}
    config.add_page(grant_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(change_grant, role=ADMIN_SOMEWHERE, redraw=grant_page, **page)
