"""The API of two states: to compare them, to copy from one, to go back to one."""

from __future__ import annotations

from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.secrets.api.secrets import declare_writes, write_result
from secretsvc.secrets.domain import copies as domain
from secretsvc.secrets.resources import Secrets
from secretsvc.secrets.schemas import history as schemas
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.if_match import refuse_precondition
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import api_view


@api_view(
    name=":compare",
    operation_id="compareSecrets",
    summary="Compare with another environment or revision, without values",
    role=Role.READER,
    query=schemas.CompareQuery(),
)
def compare_secrets(context: Secrets, request: ServiceRequest) -> domain.Comparison:
    """`GET …/secrets:compare`."""
    return domain.compare_secrets(request.call, context.address, **request.query_values)


def copy_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:copy`."""
    refuse_precondition(request)
    body = dict(request.body_values)
    source = ScopePath(**body.pop("from"))
    written = domain.copy_secrets(request.call, context.address, source=source, **body)
    return write_result(written, dry_run=body["dry_run"])


def restore_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:restore`."""
    refuse_precondition(request)
    body = request.body_values
    written = domain.restore_secrets(request.call, context.address, **body)
    return write_result(written, dry_run=body["dry_run"])


def includeme(config: ServiceConfigurator) -> None:
    declare_writes(
        config,
        ("copySecrets", ":copy", copy_secrets, "Write what another environment holds", schemas.CopyBody()),
        ("restoreSecrets", ":restore", restore_secrets, "Go back to a revision", schemas.RestoreBody()),
        errors=(409, 412),
    )
    config.add_api_views(__name__)
