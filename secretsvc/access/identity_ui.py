"""The page of one identity: what it may do and why, and what can be changed of it."""

from __future__ import annotations

from typing import Any

from secretsvc.access import domain, grant_domain, group_domain
from secretsvc.access.ui import remove_grant
from secretsvc.identity import domain as identity_domain
from secretsvc.identity import schemas
from secretsvc.identity.resources import Identity
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.web.pages import see_other
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ADMIN_SOMEWHERE

SWITCH = {"yes": True, "no": False}


def identity_page(context: Identity, request: Any) -> Any:
    """An identity with its effective permissions, its grants and its groups."""
    call = request.call
    effective = domain.effective_permissions(call, context.id)
    return {
        "here": effective.identity.subject,
        "effective": effective,
        "grants": grant_domain.grants_of_identity(call, context.id),
        "groups": group_domain.groups_of(call, context.id),
        "scopes": grant_domain.grantable_scopes(call),
    }


def rename_identity(context: Identity, request: Any) -> Any:
    """Changes the display name."""
    changes = request.form.read(schemas.UpdateIdentityBody(), "display_name")
    identity_domain.update_identity(request.call, context.id, changes)
    return see_other(context.path(PAGES), "saved")


def switch_identity(context: Identity, request: Any) -> Any:
    """Disables or enables the identity."""
    disabled = SWITCH.get(request.form["disabled"])
    if disabled is None:
        raise ValidationFailed.at("disabled", "Must be yes or no.")
    identity_domain.update_identity(request.call, context.id, {"disabled": disabled})
    return see_other(context.path(PAGES), "saved")


def includeme(config: Any) -> None:
    """Declares the page and its forms."""
    page = {"context": Identity, "template": "secretsvc.access:templates/identity.pt"}
    form = {**page, "redraw": identity_page}
    config.add_page(identity_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(rename_identity, role=Role.ADMIN, **form)
    config.add_form(switch_identity, name="switch", role=Role.ADMIN, **form)
    config.add_form(remove_grant, name="remove-grant", role=ADMIN_SOMEWHERE, **form)
