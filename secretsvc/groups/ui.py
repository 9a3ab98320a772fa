"""The pages of groups: their records, their members and their grants."""

from __future__ import annotations

from functools import partial

from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.rules.holders import GROUP, FoundHolder
from secretsvc.access.ui import grant_panel
from secretsvc.access.ui.grant_actions import add_grant_forms, pressed_row
from secretsvc.access.ui.grants import LIMIT, removing
from secretsvc.db.paging import Window
from secretsvc.groups import domain, schemas
from secretsvc.groups.resources import Group, Groups
from secretsvc.kernel.authorization import Role
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, cursor_of, redirect_after_form, see_removed
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import TextFilter, validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ADMIN_SOMEWHERE

#: The panels of a group's page, beside those of grants.
PANELS = ("edit", "add", "delete")


def groups_page(_context: Groups, request: ServiceRequest) -> object:
    """Every group, or those that a text picks out, with the panel for another."""
    query = parse_query(request.environ)
    text = validate(TextFilter(), {"q": query.get("q", "")})["q"]
    request.form.label("slug", "Address")
    page = domain.count_groups(request.call, Window(LIMIT, cursor_of(request)), text)
    return {
        "groups": page.items,
        "text": text,
        "next_cursor": page.next_cursor,
        "making": "new" in query or "slug" in request.form.values,
    }


def create_group(context: Groups, request: ServiceRequest) -> object:
    """Makes a group and leads on to it."""
    body = request.form.read(schemas.CreateGroupBody(), "slug", "name", "description")
    created = domain.create_group(request.call, **body)
    return redirect_after_form(f"{context.path(PAGES)}/{created.id}", "created", created.slug)


def group_page(context: Group, request: ServiceRequest) -> object:
    """A group with its members and its grants."""
    call, path = request.call, context.path(PAGES)
    request.form.label("confirm", "Address")
    group = domain.get_group(call, context.id)
    grants = grant_domain.grants_of_group(call, context.id)
    members = domain.list_members(call, context.id)
    who = FoundHolder(GROUP, group.slug, group.id, group.name)
    asked = _panel(request)
    return {
        "group": group,
        "path": path,
        "members": members,
        "grants": grants,
        "giving": grant_panel.opened(request, action=f"{path}/give", holder=who),
        "removing": removing(request, grants),
        "asked": asked,
        "leaving": next((one for one in members if str(one.id) == _leaving(request)), None),
        "naming": grant_panel.naming(request, groups=False) if asked == "add" else None,
    }


def update_group(context: Group, request: ServiceRequest) -> object:
    """Changes the name and the description."""
    changes = request.form.read(schemas.UpdateGroupBody(), "name", "description")
    domain.update_group(request.call, context.id, changes, request.form.seen)
    return redirect_after_form(context.path(PAGES), "saved")


def delete_group(context: Group, request: ServiceRequest) -> object:
    """Deletes a group whose slug was typed to confirm it."""

    def delete() -> None:
        request.form.confirm(domain.get_group(request.call, context.id).slug)
        domain.delete_group(request.call, context.id)

    return see_removed("/groups", "deleted", delete, request.form["confirm"].strip())


def add_member(context: Group, request: ServiceRequest) -> object:
    """Adds whoever is named, who may not have signed in yet."""
    request.form.label("holder", "Who")
    member = grant_panel.read_holder(request, announce=request.form["announce"] == "yes", groups=False)
    domain.add_member(request.call, context.id, identity_id=member.id)
    return redirect_after_form(context.path(PAGES), "member-added")


def remove_member(context: Group, request: ServiceRequest) -> object:
    """Removes the chosen member."""
    remove = partial(domain.remove_member, request.call, context.id, identity_id=pressed_row(request.form))
    return see_removed(context.path(PAGES), "member-removed", remove)


def give_role_to_group(context: Group, request: ServiceRequest) -> object:
    """Gives the group a role."""
    return grant_panel.give(request, context.path(PAGES), FoundHolder(GROUP, "", context.id, ""))


def _panel(request: ServiceRequest) -> str | None:
    """Which panel is open, by a form that was refused or by the address."""
    form = request.form.values
    for name, field in (("add", "holder"), ("edit", "description"), ("delete", "confirm")):
        if field in form:
            return name
    query = parse_query(request.environ)
    asked = next((name for name in PANELS if name in query), None)
    return asked if request.call.snapshot.global_role is Role.ADMIN else None


def _leaving(request: ServiceRequest) -> str | None:
    """Whose removal is to be confirmed, by the id in the address."""
    if request.call.snapshot.global_role is not Role.ADMIN:
        return None
    return parse_query(request.environ).get("leave")


def includeme(config: ServiceConfigurator) -> None:
    groups: PageOptions[Groups] = {"context": Groups, "template": "secretsvc.groups:templates/groups.pt"}
    config.add_page(groups_page, role=ADMIN_SOMEWHERE, **groups)
    config.add_form(create_group, role=Role.ADMIN, rerender=groups_page, **groups)
    page: PageOptions[Group] = {"context": Group, "template": "secretsvc.groups:templates/group.pt"}
    config.add_page(group_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(update_group, role=Role.ADMIN, rerender=group_page, **page)
    config.add_form(delete_group, name="delete", role=Role.ADMIN, rerender=group_page, **page)
    config.add_form(add_member, name="add-member", role=Role.ADMIN, rerender=group_page, **page)
    config.add_form(remove_member, name="remove-member", role=Role.ADMIN, rerender=group_page, **page)
    config.add_form(give_role_to_group, name="give", role=ADMIN_SOMEWHERE, rerender=group_page, **page)
    add_grant_forms(config, page, group_page, ADMIN_SOMEWHERE)
    config.add_flash_message("member-added", "The member was added.")
    config.add_flash_message("member-removed", "The member was removed.")
    config.add_navigation("Groups", "/groups", role=ADMIN_SOMEWHERE, order=40, icon="layers")
