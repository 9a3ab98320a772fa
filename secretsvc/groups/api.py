"""The API of groups, their members and their grants."""

from __future__ import annotations

from secretsvc.access.api import validated_terms
from secretsvc.access.rules.grants import GrantRow
from secretsvc.access.schemas import UpdateGrantBody, create_group_grant_body
from secretsvc.db.paging import Page, Window
from secretsvc.groups import domain, schemas
from secretsvc.groups.resources import Group, GroupGrant, GroupGrants, Groups, Member, Members
from secretsvc.identity.rules import IdentityRow
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.schema_annotations import Items
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import ListQuery
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY, api_view, created_at

GROUP_LINKS = ("getGroup", "updateGroup", "addGroupMember", "createGroupGrant", "deleteGroup")


@api_view(
    operation_id="listGroups",
    summary="List groups",
    role=ADMIN_SOMEWHERE,
    query=ListQuery(),
)
def list_groups(_context: Groups, request: ServiceRequest) -> Page[domain.GroupRow]:
    """`GET /groups`."""
    return domain.list_groups(request.call, Window(**request.query_values))


@api_view(
    method="POST",
    operation_id="createGroup",
    errors=(409,),
    links={name: {"id": "id"} for name in GROUP_LINKS},
    summary="Create a group",
    role=Role.ADMIN,
    body=schemas.CreateGroupBody(),
    status=201,
)
def create_group(context: Groups, request: ServiceRequest) -> domain.GroupRow:
    """`POST /groups`."""
    created = domain.create_group(request.call, **request.body_values)
    return created_at(request, context, created.id, created)


@api_view(
    operation_id="getGroup",
    summary="Get a group",
    role=ADMIN_SOMEWHERE,
)
def get_group(context: Group, request: ServiceRequest) -> domain.GroupRow:
    """`GET /groups/{id}`."""
    return domain.get_group(request.call, context.id)


@api_view(
    method="PATCH",
    operation_id="updateGroup",
    summary="Change a group's name or description",
    role=Role.ADMIN,
    body=schemas.UpdateGroupBody(),
)
def update_group(context: Group, request: ServiceRequest) -> domain.GroupRow:
    """`PATCH /groups/{id}`."""
    return domain.update_group(request.call, context.id, request.body_values)


@api_view(
    method="DELETE",
    operation_id="deleteGroup",
    errors=(409,),
    summary="Delete a group with its memberships and grants",
    role=Role.ADMIN,
)
def delete_group(context: Group, request: ServiceRequest) -> None:
    """`DELETE /groups/{id}`."""
    domain.delete_group(request.call, context.id)


@api_view(
    operation_id="listGroupMembers",
    summary="List the members of a group",
    role=ADMIN_SOMEWHERE,
)
def list_members(context: Members, request: ServiceRequest) -> Items[IdentityRow]:
    """`GET /groups/{id}/members`."""
    return Items(domain.list_members(request.call, context.group_id))


@api_view(
    method="POST",
    operation_id="addGroupMember",
    errors=(409,),
    summary="Add an identity to a group",
    role=Role.ADMIN,
    body=schemas.AddGroupMemberBody(),
    status=201,
)
def add_member(context: Members, request: ServiceRequest) -> IdentityRow:
    """`POST /groups/{id}/members`."""
    member = domain.add_member(request.call, context.group_id, **request.body_values)
    return created_at(request, context, member.id, member)


@api_view(
    method="DELETE",
    operation_id="removeGroupMember",
    errors=(409,),
    summary="Remove an identity from a group",
    role=Role.ADMIN,
)
def remove_member(context: Member, request: ServiceRequest) -> None:
    """`DELETE /groups/{id}/members/{identityId}`."""
    domain.remove_member(request.call, context.group_id, identity_id=context.id)


@api_view(
    operation_id="listGroupGrants",
    summary="List a group's grants at scopes that the caller administers",
    role=ADMIN_SOMEWHERE,
)
def list_group_grants(context: GroupGrants, request: ServiceRequest) -> Items[GrantRow]:
    """`GET /groups/{id}/grants`."""
    return Items(domain.list_group_grants(request.call, context.group_id))


@api_view(
    method="POST",
    operation_id="createGroupGrant",
    errors=(409,),
    summary="Grant a role to a group; the caller must be an admin at the scope",
    role=ANY_IDENTITY,
    body=create_group_grant_body(),
    status=201,
)
def create_group_grant(context: GroupGrants, request: ServiceRequest) -> GrantRow:
    """`POST /groups/{id}/grants`."""
    terms = validated_terms(request.body_values)
    granted = domain.grant_to_group(request.call, context.group_id, terms)
    return created_at(request, context, granted.id, granted)


@api_view(
    method="PATCH",
    operation_id="updateGroupGrant",
    errors=(409,),
    summary="Change the role or expiry of a group's grant; the caller must be an admin at its scope",
    role=ADMIN_SOMEWHERE,
    body=UpdateGrantBody(),
)
def update_group_grant(context: GroupGrant, request: ServiceRequest) -> GrantRow:
    """`PATCH /groups/{id}/grants/{grantId}`."""
    changes = request.body_values
    return domain.update_group_grant(request.call, context.group_id, grant_id=context.id, changes=changes)


@api_view(
    method="DELETE",
    operation_id="deleteGroupGrant",
    errors=(409,),
    summary="Remove a group's grant; the caller must be an admin at its scope",
    role=ADMIN_SOMEWHERE,
)
def delete_group_grant(context: GroupGrant, request: ServiceRequest) -> None:
    """`DELETE /groups/{id}/grants/{grantId}`."""
    domain.delete_group_grant(request.call, context.group_id, grant_id=context.id)
