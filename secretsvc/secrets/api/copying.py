"""The API of two states: to compare them, to copy from one, to go back to one."""

from __future__ import annotations

from typing import Any

from secretsvc.kernel.authorization import Address, Role
from secretsvc.secrets.api.secrets import judged_reason, told
from secretsvc.secrets.domain import copying as domain
from secretsvc.secrets.resources import Secrets
from secretsvc.secrets.schemas import history as schemas
from secretsvc.secrets.schemas.secrets import WriteResult
from secretsvc.web.precondition import refuse_precondition


def compare_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets:compare`."""
    return domain.compare_secrets(request.call, context.address, **request.query_values)


def copy_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:copy`."""
    refuse_precondition(request)
    body = dict(request.body_values)
    source = Address(**body.pop("from"))
    written = domain.copy_secrets(request.call, context.address, source, **body)
    return told(written, dry_run=body["dry_run"])


def restore_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:restore`."""
    refuse_precondition(request)
    body = request.body_values
    written = domain.restore_secrets(request.call, context.address, **body)
    return told(written, dry_run=body["dry_run"])


def includeme(config: Any) -> None:
    """Declares the operations."""
    config.add_api_view(
        compare_secrets,
        context=Secrets,
        name=":compare",
        operation_id="compareSecrets",
        summary="Compare with another environment or revision, without values",
        role=Role.READER,
        query=schemas.CompareQuery(),
        response=schemas.Comparison(),
    )
    for operation_id, name, view, summary, body in (
        ("copySecrets", ":copy", copy_secrets, "Write what another environment holds", schemas.CopyBody()),
        ("restoreSecrets", ":restore", restore_secrets, "Go back to a revision", schemas.RestoreBody()),
    ):
        config.add_api_view(
            view,
            context=Secrets,
            name=name,
            method="POST",
            operation_id=operation_id,
            summary=summary,
            role=Role.WRITER,
            body=body,
            response=WriteResult(),
            errors=(409, 412),
            also_judged=judged_reason,
        )
