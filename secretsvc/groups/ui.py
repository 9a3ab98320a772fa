"""The pages of groups: their records, their members and their grants."""

from __future__ import annotations

from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.schemas import MemberForm
from secretsvc.access.ui.grants import LIMIT, chosen, read_holder, remove_grant
from secretsvc.db.paging import Window
from secretsvc.groups import domain, schemas
from secretsvc.groups.resources import Group, Groups
from secretsvc.kernel.authorization import Role
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import Drawn, cursor_of, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ADMIN_SOMEWHERE


def groups_page(_context: Groups, request: ServiceRequest) -> object:
    """Every group, with a form for another."""
    page = domain.list_groups(request.call, Window(LIMIT, cursor_of(request)))
    return {"groups": page.items, "next_cursor": page.next_cursor}


def create_group(context: Groups, request: ServiceRequest) -> object:
    """Makes a group and leads on to it."""
    body = request.form.read(schemas.CreateGroupBody(), "slug", "name", "description")
    created = domain.create_group(request.call, **body)
    return see_other(f"{context.path(PAGES)}/{created.id}", "created")


def group_page(context: Group, request: ServiceRequest) -> object:
    """A group with its members and its grants."""
    call = request.call
    group = domain.get_group(call, context.id)
    return {
        "here": group.slug,
        "group": group,
        "members": domain.list_members(call, context.id),
        "grants": grant_domain.grants_of_group(call, context.id),
        "scopes": grant_domain.grantable_scopes(call),
        "holders": grant_domain.known_holders(call),
    }


def update_group(context: Group, request: ServiceRequest) -> object:
    """Changes the name and the description."""
    changes = request.form.read(schemas.UpdateGroupBody(), "name", "description")
    domain.update_group(request.call, context.id, changes)
    return see_other(context.path(PAGES), "saved")


def delete_group(context: Group, request: ServiceRequest) -> object:
    """Deletes a group whose slug was typed to confirm it."""
    request.form.confirm(domain.get_group(request.call, context.id).slug)
    domain.delete_group(request.call, context.id)
    return see_other("/groups", "deleted")


def add_member(context: Group, request: ServiceRequest) -> object:
    """Adds the identity of a subject."""
    member = read_holder(request.form, MemberForm())
    domain.add_member_by_name(request.call, context.id, member)
    return see_other(context.path(PAGES), "added")


def remove_member(context: Group, request: ServiceRequest) -> object:
    """Removes the chosen member."""
    domain.remove_member(request.call, context.id, chosen(request.form))
    return see_other(context.path(PAGES), "removed")


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages."""
    groups: Drawn[Groups] = {"context": Groups, "template": "secretsvc.groups:templates/groups.pt"}
    config.add_page(groups_page, role=ADMIN_SOMEWHERE, **groups)
    config.add_form(create_group, role=Role.ADMIN, redraw=groups_page, **groups)
    page: Drawn[Group] = {"context": Group, "template": "secretsvc.groups:templates/group.pt"}
    config.add_page(group_page, role=ADMIN_SOMEWHERE, **page)
    config.add_form(update_group, role=Role.ADMIN, redraw=group_page, **page)
    config.add_form(delete_group, name="delete", role=Role.ADMIN, redraw=group_page, **page)
    config.add_form(add_member, name="add-member", role=Role.ADMIN, redraw=group_page, **page)
    config.add_form(remove_member, name="remove-member", role=Role.ADMIN, redraw=group_page, **page)
    config.add_form(remove_grant, name="remove-grant", role=ADMIN_SOMEWHERE, redraw=group_page, **page)
    config.add_navigation("Groups", "/groups", role=ADMIN_SOMEWHERE, order=40, icon="layers")
