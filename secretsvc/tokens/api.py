"""The API of service tokens, which is there where `SERVICE_TOKENS` is on."""

from __future__ import annotations

from contextlib import suppress

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.schema_annotations import Items
from secretsvc.tokens import domain, schemas
from secretsvc.tokens.resources import Token, Tokens
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import api_view


@api_view(
    method="POST",
    operation_id="createToken",
    errors=(409,),
    summary="Make a service token; no other answer has it",
    role=Role.ADMIN,
    reveals=True,
    body=schemas.CreateTokenBody(),
    status=201,
    location_header=False,
)
def create_token(context: Tokens, request: ServiceRequest) -> domain.CreatedToken:
    """`POST /identities/{id}/tokens`."""
    _ = request.call.settings.service_tokens
    return domain.create_token(request.call, context.identity_id, **request.body_values)


@api_view(
    operation_id="listTokens",
    summary="List the service tokens of an identity",
    role=Role.ADMIN,
)
def list_tokens(context: Tokens, request: ServiceRequest) -> Items[domain.TokenRow]:
    """`GET /identities/{id}/tokens`."""
    _ = request.call.settings.service_tokens
    return Items(domain.list_tokens(request.call, context.identity_id))


@api_view(
    method="DELETE",
    operation_id="deleteToken",
    summary="Remove a service token",
    role=Role.ADMIN,
)
def delete_token(context: Token, request: ServiceRequest) -> None:
    """`DELETE /identities/{id}/tokens/{tokenId}`."""
    _ = request.call.settings.service_tokens
    domain.delete_token(request.call, context.identity_id, token_id=context.id)


def includeme(config: ServiceConfigurator) -> None:
    """Declares the operations, unless they are switched off: then there is nothing there.

    Where the setting is malformed each of them says so.
    """
    with suppress(ServerMisconfigured):
        if not config.registry.service_settings.service_tokens:
            return
    config.include(".resources")
    config.add_api_views(__name__)
