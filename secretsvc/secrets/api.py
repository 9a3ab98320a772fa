"""The API of secrets."""

from __future__ import annotations

from typing import Any

from secretsvc.kernel.authorization import Address, Role
from secretsvc.secrets import schemas
from secretsvc.secrets.domain import copying
from secretsvc.secrets.domain import secrets as domain
from secretsvc.secrets.domain.conditional import revision_if_known
from secretsvc.secrets.resources import Secret, Secrets
from secretsvc.secrets.rules.formats import encode_env
from secretsvc.secrets.rules.writing import Written
from secretsvc.web.conditional import not_modified, revisions_known, set_tag
from secretsvc.web.precondition import expected_revision, refuse_precondition


def list_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets`."""
    known = _known(context, request)
    if known is not None:
        return known
    listing = domain.list_secrets(request.call, context.address)
    set_tag(request, listing.rev)
    return listing


def reveal_secret(context: Secret, request: Any) -> Any:
    """`GET …/secrets/{key}`, in both spellings."""
    return domain.reveal_secret(request.call, context.address, context.__name__, **request.query_values)


def export_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets:export`."""
    known = _known(context, request)
    if known is not None:
        return known
    query = request.query_values
    exported = domain.export_secrets(request.call, context.address, query["reason"])
    set_tag(request, exported.rev)
    if query["format"] == "json":
        return exported
    response = request.response
    response.content_type, response.charset = "text/plain", "utf-8"
    response.body = encode_env(exported.secrets)
    return response


def list_versions(context: Secret, request: Any) -> Any:
    """`GET …/secrets/{key}/versions`."""
    return domain.secret_versions(request.call, context.address, context.__name__)


def batch_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:batch`."""
    return domain.batch_secrets(request.call, context.address, **_expecting(request))


def import_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:import`."""
    body = _expecting(request)
    written = domain.import_secrets(request.call, context.address, **body)
    return _told(written, dry_run=body["dry_run"])


def rename_secret(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:rename`."""
    refuse_precondition(request)
    body = request.body_values
    return domain.rename_secret(request.call, context.address, body["from"], body["to"], body.get("reason"))


def rollback_secret(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:rollback`."""
    refuse_precondition(request)
    return domain.rollback_secret(request.call, context.address, **request.body_values)


def compare_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets:compare`."""
    return copying.compare_secrets(request.call, context.address, **request.query_values)


def copy_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:copy`."""
    refuse_precondition(request)
    body = dict(request.body_values)
    source = Address(**body.pop("from"))
    written = copying.copy_secrets(request.call, context.address, source, **body)
    return _told(written, dry_run=body["dry_run"])


def restore_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:restore`."""
    refuse_precondition(request)
    body = request.body_values
    written = copying.restore_secrets(request.call, context.address, **body)
    return _told(written, dry_run=body["dry_run"])


def _told(written: Written, *, dry_run: bool) -> Any:
    """The outcome of a write; a dry run has made no versions."""
    if not dry_run:
        return written
    changes = [{"key": change.key, "kind": change.kind} for change in written.changes]
    return {"rev": written.rev, "dry_run": True, "changes": changes}


def _known(context: Secrets, request: Any) -> Any:
    """The whole answer to a client that knows the revision, else None."""
    is_known = revisions_known(request)
    if is_known is None:
        return None
    rev = revision_if_known(request.call, context.address, is_known, request.query_values.get("rev"))
    return None if rev is None else not_modified(request, rev)


def _expecting(request: Any) -> dict[str, Any]:
    body: dict[str, Any] = request.body_values
    return body | {"expected_rev": expected_revision(request, body["expected_rev"])}


def includeme(config: Any) -> None:
    """Declares the operations."""
    config.include(".resources")
    config.add_api_view(
        list_secrets,
        context=Secrets,
        operation_id="listSecrets",
        tagged=True,
        summary="List secrets without their values",
        role=Role.READER,
        response=schemas.SecretList(),
    )
    for name, operation_id in (("", "getSecret"), (":reveal", "revealSecret")):
        config.add_api_view(
            reveal_secret,
            context=Secret,
            name=name,
            operation_id=operation_id,
            summary="Read one value",
            role=Role.READER,
            query=schemas.RevealQuery(),
            response=schemas.Secret(),
            reveals=True,
            reads_at_once=True,
        )
    config.add_api_view(
        export_secrets,
        context=Secrets,
        name=":export",
        operation_id="exportSecrets",
        tagged=True,
        media=("application/json", "text/plain"),
        summary="Read every value",
        role=Role.READER,
        query=schemas.ExportQuery(),
        response=schemas.Export(),
        reveals=True,
    )
    config.add_api_view(
        list_versions,
        context=Secret,
        name="versions",
        operation_id="listSecretVersions",
        summary="List the versions of a key",
        role=Role.READER,
        response=schemas.VersionList(),
    )
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
    _declare_writes(config)


def _declare_writes(config: Any) -> None:
    for operation_id, name, view, summary, body in (
        ("batchSecrets", ":batch", batch_secrets, "Set and remove secrets at once", schemas.BatchBody()),
        ("importSecrets", ":import", import_secrets, "Write what a file holds", schemas.ImportBody()),
        ("renameSecret", ":rename", rename_secret, "Rename a secret", schemas.RenameBody()),
        ("rollbackSecret", ":rollback", rollback_secret, "Write an older version", schemas.RollbackBody()),
        ("copySecrets", ":copy", copy_secrets, "Write what another environment holds", schemas.CopyBody()),
        ("restoreSecrets", ":restore", restore_secrets, "Go back to a revision", schemas.RestoreBody()),
    ):
        expects_revision = name in (":batch", ":import")
        may_fail = expects_revision or name in (":copy", ":restore")
        config.add_api_view(
            view,
            context=Secrets,
            name=name,
            method="POST",
            operation_id=operation_id,
            summary=summary,
            role=Role.WRITER,
            body=body,
            response=schemas.WriteResult(),
            errors=(409, 412) if may_fail else (409,),
            expects_revision=expects_revision,
        )
