"""The API of exposure."""

from __future__ import annotations

from secretsvc.exposure import domain, schemas
from secretsvc.identity.resources import Identity
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import ADMIN_ANYWHERE, api_view


@api_view(
    name="exposure",
    operation_id="getExposure",
    summary="List the values that an identity was given or wrote, and whether they are in force",
    role=ADMIN_ANYWHERE,
    query=schemas.ExposureQuery(),
)
def read_exposure(context: Identity, request: ServiceRequest) -> domain.Exposure:
    """`GET /identities/{id}/exposure`."""
    query = request.query_values
    return domain.exposure_of(request.call, context.id, query["limit"], query.get("cursor"))
