"""The API of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import Issue
from secretsvc.secrets.domain import history, reading, writing
from secretsvc.secrets.domain.conditional import revision_if_known
from secretsvc.secrets.domain.protection import missing_reason
from secretsvc.secrets.resources import Secret, Secrets
from secretsvc.secrets.rules.formats import encode_env
from secretsvc.secrets.rules.writing import Written
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.web.conditional import not_modified, revisions_known, set_tag
from secretsvc.web.precondition import expected_revision, refuse_precondition


def list_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets`."""
    known = _known(context, request)
    if known is not None:
        return known
    call, at, rev = request.call, context.address, request.query_values.get("rev")
    listing = reading.list_secrets(call, at) if rev is None else history.list_state(call, at, rev)
    set_tag(request, listing.rev)
    return listing


def reveal_secret(context: Secret, request: Any) -> Any:
    """`GET …/secrets/{key}`, in both spellings."""
    call, at, key, query = request.call, context.address, context.__name__, request.query_values
    if "version" in query:
        return history.reveal_version(call, at, key, **query)
    return reading.reveal_secret(call, at, key, **query)


def export_secrets(context: Secrets, request: Any) -> Any:
    """`GET …/secrets:export`."""
    known = _known(context, request)
    if known is not None:
        return known
    call, at, query = request.call, context.address, request.query_values
    reason, rev = query["reason"], query.get("rev")
    if rev is None:
        exported = reading.export_secrets(call, at, reason)
    else:
        exported = history.export_state(call, at, rev, reason)
    set_tag(request, exported.rev)
    if query["format"] == "json":
        return exported
    response = request.response
    response.content_type, response.charset = "text/plain", "utf-8"
    response.body = encode_env(exported.secrets)
    return response


def list_versions(context: Secret, request: Any) -> Any:
    """`GET …/secrets/{key}/versions`."""
    return reading.secret_versions(request.call, context.address, context.__name__)


def batch_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:batch`."""
    return writing.batch_secrets(request.call, context.address, **_expecting(request))


def import_secrets(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:import`."""
    body = _expecting(request)
    written = writing.import_secrets(request.call, context.address, **body)
    return told(written, dry_run=body["dry_run"])


def rename_secret(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:rename`."""
    refuse_precondition(request)
    body = request.body_values
    return writing.rename_secret(request.call, context.address, body["from"], body["to"], body.get("reason"))


def rollback_secret(context: Secrets, request: Any) -> Any:
    """`POST …/secrets:rollback`."""
    refuse_precondition(request)
    return writing.rollback_secret(request.call, context.address, **request.body_values)


def told(written: Written, *, dry_run: bool) -> Any:
    """The outcome of a write; a dry run has made no versions."""
    if not dry_run:
        return written
    changes = [{"key": change.key, "kind": change.kind} for change in written.changes]
    return {"rev": written.rev, "dry_run": True, "changes": changes}


def judged_reason(context: Secrets, request: Any, body: Mapping[str, Any]) -> tuple[Issue, ...]:
    """What a refused body of a write lacks beside what its schema knows (contract 5.13)."""
    reason = body.get("reason")
    if body.get("dry_run") is True or not (reason is None or isinstance(reason, str)):
        return ()
    return missing_reason(request.call, context.address, reason)


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
    config.include("secretsvc.secrets.resources")
    _declare_reads(config)
    _declare_reads_of_one(config)
    _declare_writes(config)


def _declare_reads(config: Any) -> None:
    config.add_api_view(
        list_secrets,
        context=Secrets,
        operation_id="listSecrets",
        tagged=True,
        summary="List secrets without their values",
        role=Role.READER,
        query=schemas.StateQuery(),
        response=schemas.SecretList(),
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


def _declare_reads_of_one(config: Any) -> None:
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
            single_statement=True,
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


def _declare_writes(config: Any) -> None:
    for operation_id, name, view, summary, body in (
        ("batchSecrets", ":batch", batch_secrets, "Set and remove secrets at once", schemas.BatchBody()),
        ("importSecrets", ":import", import_secrets, "Write what a file holds", schemas.ImportBody()),
        ("renameSecret", ":rename", rename_secret, "Rename a secret", schemas.RenameBody()),
        ("rollbackSecret", ":rollback", rollback_secret, "Write an older version", schemas.RollbackBody()),
    ):
        expects_revision = name in (":batch", ":import")
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
            errors=(409, 412) if expects_revision else (409,),
            expects_revision=expects_revision,
            also_judged=judged_reason,
        )
