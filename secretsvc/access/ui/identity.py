"""The pages of one identity: what it may do and why, and what can be changed of it; and the caller's own."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from secretsvc.access.directives import Finder
from secretsvc.access.domain import role_map
from secretsvc.access.rules.holders import FoundHolder
from secretsvc.access.ui import grant_panel
from secretsvc.access.ui.grant_actions import add_grant_forms
from secretsvc.access.ui.grants import removing
from secretsvc.access.ui.role_map import map_table
from secretsvc.identity import domain as identity_domain
from secretsvc.identity import schemas
from secretsvc.identity.resources import Identity
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import ServerMisconfigured, ValidationFailed
from secretsvc.tokens.domain import TokenRow, list_tokens
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, redirect_after_form, see_removed
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Root
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY

SWITCH = {"yes": True, "no": False}
#: The panels of the page, beside those of grants.
PANELS = ("rename", "disable", "remove-identity")


def whoami_page(_context: Root, request: ServiceRequest) -> object:
    """Who the caller is, and what it may do by which grants."""
    found = role_map.own_roles(request.call)
    asked = parse_query(request.environ).get("why")
    return {"map": found, "table": map_table(found, request.call.now, asked), "path": "/whoami"}


def identity_page(context: Identity, request: ServiceRequest) -> object:
    """An identity with its roles, its grants, its groups, its service tokens, and what it did lately."""
    call, query, path = request.call, parse_query(request.environ), context.path(PAGES)
    found = role_map.roles_of(call, context.id)
    subject = found.identity
    find: Finder | None = request.registry.find_activity
    who = FoundHolder(subject.kind, subject.subject, subject.id, found.holding.label)
    return {
        "map": found,
        "table": map_table(found, call.now, query.get("why")),
        "path": path,
        "giving": grant_panel.opened(request, action=f"{path}/give", holder=who),
        "removing": removing(request, found.direct),
        "asked": _panel(request),
        "tokens": _tokens(request, found),
        "recent": find(request, subject) if find else None,
    }


def give_role_to_identity(context: Identity, request: ServiceRequest) -> object:
    """Gives the identity a role."""
    holder = FoundHolder(Kind.USER.value, "", context.id, "")
    return grant_panel.give(request, context.path(PAGES), holder)


def rename_identity(context: Identity, request: ServiceRequest) -> object:
    """Changes the display name."""
    request.form.label("display_name", "Name")
    changes = request.form.read(schemas.UpdateIdentityBody(), "display_name")
    identity_domain.update_identity(request.call, context.id, changes, request.form.seen)
    return redirect_after_form(context.path(PAGES), "saved")


def switch_identity(context: Identity, request: ServiceRequest) -> object:
    """Disables or enables the identity."""
    disabled = SWITCH.get(request.form["disabled"])
    if disabled is None:
        raise ValidationFailed.at("disabled", "Must be yes or no.")
    identity_domain.update_identity(request.call, context.id, {"disabled": disabled})
    return redirect_after_form(context.path(PAGES), "disabled" if disabled else "enabled")


def remove_identity(context: Identity, request: ServiceRequest) -> object:
    """Removes an identity that never signed in."""
    remove = partial(identity_domain.delete_identity, request.call, context.id)
    return see_removed("/identities", "identity-removed", remove)


def _panel(request: ServiceRequest) -> str | None:
    """Which panel is open, by the address or by a form that was refused."""
    if "display_name" in request.form.values:
        return "rename"
    if request.form["disabled"] == "yes":
        return "disable"
    query = parse_query(request.environ)
    asked = next((name for name in PANELS if name in query), None)
    return asked if request.call.snapshot.global_role is Role.ADMIN else None


def _tokens(request: ServiceRequest, found: role_map.RoleMap) -> list[TokenRow] | None:
    """The service tokens of a machine, None where there are none to be shown."""
    call = request.call
    if found.identity.kind != Kind.SERVICE or call.snapshot.global_role is not Role.ADMIN:
        return None
    with suppress(ServerMisconfigured):
        return list_tokens(call, found.identity.id) if call.settings.service_tokens else None
    return None


def includeme(config: ServiceConfigurator) -> None:
    whoami = "secretsvc.access:templates/whoami.pt"
    config.add_page(whoami_page, context=Root, name="whoami", template=whoami, role=ANY_IDENTITY)
    page: PageOptions[Identity] = {"context": Identity, "template": "secretsvc.access:templates/identity.pt"}
    config.add_page(identity_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(rename_identity, role=Role.ADMIN, rerender=identity_page, **page)
    config.add_form(switch_identity, name="switch", role=Role.ADMIN, rerender=identity_page, **page)
    config.add_form(remove_identity, name="remove", role=Role.ADMIN, rerender=identity_page, **page)
    config.add_form(give_role_to_identity, name="give", role=ADMIN_SOMEWHERE, rerender=identity_page, **page)
    add_grant_forms(config, page, identity_page, ADMIN_SOMEWHERE)
    config.add_flash_message("disabled", "Disabled: nothing is allowed any more.")
    config.add_flash_message("enabled", "Enabled again.")
    config.add_flash_message("identity-removed", "The identity was removed.")
