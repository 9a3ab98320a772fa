"""The API of identities."""

from __future__ import annotations

from secretsvc.db.paging import Page, Window
from secretsvc.identity import domain, rules, schemas
from secretsvc.identity.resources import Identities, Identity
from secretsvc.kernel.authorization import Role
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import ListQuery
from secretsvc.web.tree import Root
from secretsvc.web.views import ADMIN_ANYWHERE, ANY_IDENTITY, api_view, created_at

IDENTITY_LINKS = ("updateIdentity", "deleteIdentity", "getEffectivePermissions", "getExposure")


@api_view(
    name="whoami",
    operation_id="whoAmI",
    summary="Tell who the caller is",
    role=ANY_IDENTITY,
)
def who_am_i(_context: Root, request: ServiceRequest) -> domain.WhoAmI:
    """`GET /whoami`."""
    return domain.who_am_i(request.call)


@api_view(
    operation_id="listIdentities",
    summary="List identities",
    role=ADMIN_ANYWHERE,
    query=ListQuery(),
)
def list_identities(_context: Identities, request: ServiceRequest) -> Page[rules.IdentityRow]:
    """`GET /identities`."""
    return domain.list_identities(request.call, Window(**request.query_values))


@api_view(
    method="POST",
    operation_id="createIdentity",
    errors=(409,),
    links={name: {"id": "id"} for name in IDENTITY_LINKS},
    summary="Announce an identity, so that it can be granted something before its first visit",
    role=ADMIN_ANYWHERE,
    body=schemas.create_identity_body(),
    status=201,
)
def announce_identity(context: Identities, request: ServiceRequest) -> rules.IdentityRow:
    """`POST /identities`."""
    announced = domain.announce_identity(request.call, **request.body_values)
    return created_at(request, context, announced.id, announced)


@api_view(
    method="PATCH",
    operation_id="updateIdentity",
    errors=(409,),
    summary="Change an identity's display name, disable or enable it",
    role=Role.ADMIN,
    body=schemas.UpdateIdentityBody(),
)
def update_identity(context: Identity, request: ServiceRequest) -> rules.IdentityRow:
    """`PATCH /identities/{id}`."""
    return domain.update_identity(request.call, context.id, request.body_values)


@api_view(
    method="DELETE",
    operation_id="deleteIdentity",
    errors=(409,),
    summary="Remove an identity that never signed in, with its grants, memberships and tokens",
    role=Role.ADMIN,
)
def delete_identity(context: Identity, request: ServiceRequest) -> None:
    """`DELETE /identities/{id}`."""
    domain.delete_identity(request.call, context.id)
