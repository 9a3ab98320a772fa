"""The pages of one identity: what it may do and why, and what can be changed of it; and the caller's own."""

from __future__ import annotations

from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain import permissions
from secretsvc.access.ui.grants import remove_grant
from secretsvc.identity import domain as identity_domain
from secretsvc.identity import schemas
from secretsvc.identity.resources import Identity
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import Drawn, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Root
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY

SWITCH = {"yes": True, "no": False}


def whoami_page(_context: Root, request: ServiceRequest) -> object:
    """Who the caller is, and what it may do by which grants."""
    return {
        "effective": permissions.own_permissions(request.call),
        "global_role": request.call.snapshot.global_role,
    }


def identity_page(context: Identity, request: ServiceRequest) -> object:
    """An identity with its effective permissions, its grants and its groups."""
    call = request.call
    effective = permissions.effective_permissions(call, context.id)
    return {
        "here": effective.identity.subject,
        "effective": effective,
        "grants": grant_domain.grants_of_identity(call, context.id),
        "groups": permissions.groups_of(call, context.id),
        "scopes": grant_domain.grantable_scopes(call),
    }


def rename_identity(context: Identity, request: ServiceRequest) -> object:
    """Changes the display name."""
    changes = request.form.read(schemas.UpdateIdentityBody(), "display_name")
    identity_domain.update_identity(request.call, context.id, changes)
    return see_other(context.path(PAGES), "saved")


def switch_identity(context: Identity, request: ServiceRequest) -> object:
    """Disables or enables the identity."""
    disabled = SWITCH.get(request.form["disabled"])
    if disabled is None:
        raise ValidationFailed.at("disabled", "Must be yes or no.")
    identity_domain.update_identity(request.call, context.id, {"disabled": disabled})
    return see_other(context.path(PAGES), "saved")


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages and their forms."""
    whoami = "secretsvc.access:templates/whoami.pt"
    config.add_page(whoami_page, context=Root, name="whoami", template=whoami, role=ANY_IDENTITY)
    page: Drawn[Identity] = {"context": Identity, "template": "secretsvc.access:templates/identity.pt"}
    config.add_page(identity_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(rename_identity, role=Role.ADMIN, redraw=identity_page, **page)
    config.add_form(switch_identity, name="switch", role=Role.ADMIN, redraw=identity_page, **page)
    config.add_form(remove_grant, name="remove-grant", role=ADMIN_SOMEWHERE, redraw=identity_page, **page)
