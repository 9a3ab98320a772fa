"""The API of what an environment was."""

from __future__ import annotations

from secretsvc.kernel.authorization import Role
from secretsvc.secrets.domain import history as domain
from secretsvc.secrets.resources import Revisions, Secrets
from secretsvc.secrets.schemas import history as schemas
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import api_view


@api_view(
    operation_id="listRevisions",
    summary="List what was written to an environment",
    role=Role.READER,
    query=schemas.RevisionQuery(),
)
def list_revisions(context: Revisions, request: ServiceRequest) -> domain.RevisionList:
    """`GET …/revisions`."""
    return domain.list_revisions(request.call, context.address, **request.query_values)


@api_view(
    name=":deleted",
    operation_id="listDeletedSecrets",
    summary="List the keys that were deleted",
    role=Role.READER,
    query=schemas.DeletedQuery(),
)
def list_deleted(context: Secrets, request: ServiceRequest) -> domain.DeletedKeys:
    """`GET …/secrets:deleted`."""
    return domain.deleted_keys(request.call, context.address, **request.query_values)
