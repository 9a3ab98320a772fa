"""The API of grants and of what they amount to."""

from __future__ import annotations

from secretsvc.access import schemas
from secretsvc.access.domain import grants as domain
from secretsvc.access.domain import permissions
from secretsvc.access.domain import unknown_identities as unknown
from secretsvc.access.resources import Access, Grant, Grants
from secretsvc.access.rules import grants as granting
from secretsvc.access.rules.grants import Terms
from secretsvc.db.paging import Page, Window
from secretsvc.identity.resources import Identity
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.schema_annotations import Items
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import ListQuery, Values
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY, api_view, created_at


@api_view(
    operation_id="listGrants",
    summary="List the grants at scopes that the caller administers",
    role=ADMIN_SOMEWHERE,
    query=ListQuery(),
)
def list_grants(_context: Grants, request: ServiceRequest) -> Page[granting.GrantRow]:
    """`GET /grants`."""
    return domain.list_grants(request.call, Window(**request.query_values))


@api_view(
    method="POST",
    operation_id="createGrant",
    errors=(409,),
    links={"updateGrant": {"id": "id"}, "deleteGrant": {"id": "id"}},
    summary="Grant a role to an identity; the caller must be an admin at the scope",
    role=ANY_IDENTITY,
    body=schemas.create_grant_body(),
    status=201,
)
def create_grant(context: Grants, request: ServiceRequest) -> granting.GrantRow:
    """`POST /grants`."""
    body = request.body_values
    granted = domain.grant_to_identity(request.call, body["identity_id"], validated_terms(body))
    return created_at(request, context, granted.id, granted)


@api_view(
    method="PATCH",
    operation_id="updateGrant",
    errors=(409,),
    summary="Change a grant's role or expiry; the caller must be an admin at its scope",
    role=ADMIN_SOMEWHERE,
    body=schemas.UpdateGrantBody(),
)
def update_grant(context: Grant, request: ServiceRequest) -> granting.GrantRow:
    """`PATCH /grants/{id}`."""
    return domain.update_grant(request.call, context.id, request.body_values)


@api_view(
    method="DELETE",
    operation_id="deleteGrant",
    errors=(409,),
    summary="Remove a grant; the caller must be an admin at its scope",
    role=ADMIN_SOMEWHERE,
)
def delete_grant(context: Grant, request: ServiceRequest) -> None:
    """`DELETE /grants/{id}`."""
    domain.delete_grant(request.call, context.id)


@api_view(
    name="effective-permissions",
    operation_id="getEffectivePermissions",
    summary="Explain what an identity may do, and by which grants",
    role=ADMIN_SOMEWHERE,
)
def effective_permissions(context: Identity, request: ServiceRequest) -> permissions.EffectivePermissions:
    """`GET /identities/{id}/effective-permissions`."""
    return permissions.effective_permissions(request.call, context.id)


@api_view(
    name="unknown-identities",
    operation_id="listUnknownIdentities",
    summary="List who was denied without holding a grant",
    role=ADMIN_SOMEWHERE,
)
def unknown_identities(_context: Access, request: ServiceRequest) -> Items[unknown.UnknownIdentity]:
    """`GET /access/unknown-identities`."""
    return Items(unknown.unknown_identities(request.call))


def validated_terms(body: Values) -> Terms:
    """The terms in a validated body of either kind of grant."""
    scope = ScopePath(body.get("project"), body.get("environment"))
    return Terms(scope, Role(body["role"]), body["expires_at"])
