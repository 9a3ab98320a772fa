"""The API of secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import NotRequired, TypedDict

from pyramid.response import Response

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import Issue
from secretsvc.kernel.schema_annotations import Count, Ordinal, SecretKey, schema_name
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.secrets.api.modes import mode_of_write
from secretsvc.secrets.directives import sent
from secretsvc.secrets.domain import exports, history, reads, writes
from secretsvc.secrets.queries.plan import ChangeKind
from secretsvc.secrets.resources import Secret, Secrets
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.etag import not_modified, revisions_known, set_tag
from secretsvc.web.idempotency import REPLAYED, asked_once
from secretsvc.web.if_match import expected_revision, refuse_precondition
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Body, Values
from secretsvc.web.views import api_view


@schema_name("WriteChange")
class ChangeResult(TypedDict):
    """What a write did to one key, or what a dry run would do: that has no version."""

    key: SecretKey
    kind: ChangeKind
    version: NotRequired[Ordinal]


class WriteResult(TypedDict):
    """The outcome of a write, as `ExportFormat`, or of a dry run."""

    rev: Count
    dry_run: NotRequired[bool]
    changes: list[ChangeResult]


class ImportResult(WriteResult):
    """The outcome of an import; `expandable` are the keys whose values other readers might expand."""

    expandable: list[SecretKey]


View = Callable[[Secrets, ServiceRequest], object]
#: A write as it is declared: its operation id, name, view, summary and body.
Write = tuple[str, str, View, str, Body]


@api_view(
    operation_id="listSecrets",
    mode=Mode.AUTOCOMMIT,
    etag=True,
    summary="List secrets without their values",
    role=Role.READER,
    query=schemas.StateQuery(),
    response=reads.Listing,
)
def list_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`GET …/secrets`."""
    known = _known(context, request)
    if known is not None:
        return known
    listing = reads.list_secrets(request.call, context.address, request.query_values.get("rev"))
    set_tag(request, listing.rev)
    return listing


def reveal_secret(context: Secret, request: ServiceRequest) -> object:
    """`GET …/secrets/{key}`, in both spellings."""
    call, at, key, query = request.call, context.address, context.__name__, request.query_values
    reason, version = query["reason"], query.get("version")
    if version is None:
        found = reads.reveal_secret(call, at, key, reason=reason)
    else:
        found = history.reveal_version(call, at, key, version, reason=reason)
    return found if query["format"] == "json" else _raw(request, found.value)


def export_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`GET …/secrets:export`."""
    known = _known(context, request)
    if known is not None:
        return known
    call, at, query = request.call, context.address, request.query_values
    format, reason, rev = query["format"], query["reason"], query.get("rev")
    write = request.registry.formats.writers[format].writer(query.get("name"), at.environment)
    if format == "json":
        exported = exports.export_secrets(call, at, reason, rev)
        set_tag(request, exported.rev)
        return exported
    file = exports.export_file(call, at, write, reason, rev)
    set_tag(request, file.rev)
    return sent(request, format, file.content)


@api_view(
    name="versions",
    operation_id="listSecretVersions",
    summary="List the versions of a key",
    role=Role.READER,
)
def list_versions(context: Secret, request: ServiceRequest) -> reads.VersionHistory:
    """`GET …/secrets/{key}/versions`."""
    return reads.secret_versions(request.call, context.address, context.__name__)


def batch_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:batch`."""
    return writes.batch_secrets(request.call, context.address, **_expecting(request))


def import_secrets(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:import`."""
    body = request.registry.formats.take(_expecting(request))
    done = writes.import_secrets(request.call, context.address, **body)
    return planned(done) | {"expandable": done.expandable} if body["dry_run"] else done


def rename_secret(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:rename`."""
    refuse_precondition(request)
    body = request.body_values
    return writes.rename_secret(
        request.call, context.address, source=body["from"], target=body["to"], reason=body.get("reason")
    )


def rollback_secret(context: Secrets, request: ServiceRequest) -> object:
    """`POST …/secrets:rollback`."""
    refuse_precondition(request)
    return writes.rollback_secret(request.call, context.address, **request.body_values)


def write_result(written: WriteOutcome, *, dry_run: bool) -> WriteOutcome | WriteResult:
    """The outcome of a write; a dry run has made no versions."""
    return planned(written) if dry_run else written


def planned(written: WriteOutcome) -> WriteResult:
    """The outcome of a dry run."""
    changes: list[ChangeResult] = [{"key": change.key, "kind": change.kind} for change in written.changes]
    return {"rev": written.rev, "dry_run": True, "changes": changes}


def _raw(request: ServiceRequest, value: str) -> Response:
    """The answer that is the value and nothing else."""
    response = request.response
    response.content_type, response.charset = "text/plain", "utf-8"
    response.text = value
    return response


def judged_reason(context: Secrets, request: ServiceRequest, body: Mapping[str, object]) -> tuple[Issue, ...]:
    """What a refused body of a write lacks beside what its schema knows (contract 5.13)."""
    reason = body.get("reason")
    if body.get("dry_run") is True or not (reason is None or isinstance(reason, str)):
        return ()
    return writes.missing_reason(request.call, context.address, reason)


def _known(context: Secrets, request: ServiceRequest) -> object:
    """The whole answer to a client that knows the revision, else None."""
    is_known = revisions_known(request)
    if is_known is None:
        return None
    rev = reads.revision_if_known(request.call, context.address, is_known, request.query_values.get("rev"))
    return None if rev is None else not_modified(request, rev)


def _expecting(request: ServiceRequest) -> Values:
    body = request.body_values
    return body | {"expected_rev": expected_revision(request, body["expected_rev"])}


def includeme(config: ServiceConfigurator) -> None:
    config.include("secretsvc.secrets.resources")
    _declare_reads(config)
    _declare_reads_of_one(config)
    _declare_writes(config)
    config.add_api_views(__name__)


def _declare_reads(config: ServiceConfigurator) -> None:
    formats = config.registry.formats
    config.add_api_view(
        export_secrets,
        context=Secrets,
        name=":export",
        operation_id="exportSecrets",
        etag=True,
        media=formats.media,
        summary="Read every value",
        role=Role.READER,
        query=schemas.ExportQuery(formats.writers),
        response=exports.Exported,
        reveals=True,
        mode=Mode.AUTOCOMMIT,
    )


def _declare_reads_of_one(config: ServiceConfigurator) -> None:
    for name, operation_id in (("", "getSecret"), (":reveal", "revealSecret")):
        config.add_api_view(
            reveal_secret,
            context=Secret,
            name=name,
            operation_id=operation_id,
            summary="Read one value",
            role=Role.READER,
            query=schemas.RevealQuery(),
            response=reads.Value,
            media=("application/json", "text/plain"),
            reveals=True,
            mode=Mode.AUTOCOMMIT,
        )


def _declare_writes(config: ServiceConfigurator) -> None:
    imported = schemas.ImportBody(config.registry.formats.readers)
    declare_writes(
        config,
        ("batchSecrets", ":batch", batch_secrets, "Set and remove secrets at once", schemas.BatchBody()),
        errors=(409, 412),
        if_match=True,
    )
    declare_writes(
        config,
        ("importSecrets", ":import", import_secrets, "Write what a file holds", imported),
        response=ImportResult,
        errors=(409, 412),
        if_match=True,
    )
    declare_writes(
        config,
        ("renameSecret", ":rename", rename_secret, "Rename a secret", schemas.RenameBody()),
        ("rollbackSecret", ":rollback", rollback_secret, "Write an older version", schemas.RollbackBody()),
        errors=(409,),
    )


def declare_writes(
    config: ServiceConfigurator,
    *writes: Write,
    errors: tuple[int, ...],
    response: object = WriteResult,
    if_match: bool = False,
) -> None:
    """Declares writes of secrets, with what they have in common."""
    for operation_id, name, view, summary, body in writes:
        config.add_api_view(
            _done_once(view),
            context=Secrets,
            name=name,
            method="POST",
            operation_id=operation_id,
            summary=summary,
            role=Role.WRITER,
            body=body,
            mode=mode_of_write,
            extra_validation=judged_reason,
            response=response,
            errors=errors,
            if_match=if_match,
            idempotent=True,
        )


def _done_once(view: View) -> View:
    """The view, which does once what it is asked under one `Idempotency-Key` (contract 8.2)."""

    @wraps(view)
    def wrapper(context: Secrets, request: ServiceRequest) -> object:
        if request.body_values.get("dry_run"):
            return view(context, request)
        request.call.once = once = asked_once(request)
        answer = view(context, request)
        if once is not None and once.replayed:
            request.response.headers[REPLAYED] = "true"
        return answer

    return wrapper
