"""The search over the API."""

from __future__ import annotations

from secretsvc.home import schemas
from secretsvc.home.domain.search import Found, search
from secretsvc.kernel.schema_annotations import Items
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY, api_view


@api_view(
    name="search",
    operation_id="search",
    summary="Find projects, environments and secrets by a part of their names",
    role=ANY_IDENTITY,
    query=schemas.SearchQuery(),
)
def find(_context: Root, request: ServiceRequest) -> Items[Found]:
    """`GET /search`."""
    query = request.query_values
    return Items(search(request.call, query["q"], query["limit"])[: query["limit"]])
