"""Reading the audit log: what the caller may see, newest first, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated
from uuid import UUID

import orjson
from sqlalchemy import RowMapping, select

from secretsvc.audit.rules.records import DENIED, SUCCESS
from secretsvc.audit.rules.scope import AuditScope, audit_scope, environment_ids
from secretsvc.auditlog.rules.activity import Activity, count_activity
from secretsvc.auditlog.rules.names import Names, id_in, look_up
from secretsvc.auditlog.rules.selection import AuditFilter, take_rows, take_sealed
from secretsvc.authorization.rules.checks import (
    ENVIRONMENT_NOT_FOUND,
    PROJECT_NOT_FOUND,
    assert_admin_somewhere,
)
from secretsvc.authorization.rules.denial_lookup import note_denial_of_any, record_denial
from secretsvc.kernel.authorization import GLOBAL, Role, ScopePath, decide, decide_row
from secretsvc.kernel.errors import Issue, NotFound, ValidationFailed
from secretsvc.kernel.schema_annotations import Count, Cursor, KindText, Subject, Time, Word, one_of, text
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.rules.positions import START, SealedLog, positions_of, sealed_log
from secretsvc.tables.projects import environment, project

#: How many records one file has at most, and how many characters their details.
EXPORTED, DETAILS = 10_000, 16 << 20
#: Records read at a time for it.
CHUNK = 500
#: Positions of the sealed log that a page looks at, at most.
WINDOW = 50_000


@dataclass(frozen=True, slots=True)
class AuditActor:
    """Who acted; the system has neither identity nor kind."""

    identity_id: UUID | None
    kind: KindText | None
    subject: Subject


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the log; `detail` is None where its text cannot be parsed.

    `index` is its position in the sealed log, for global admins, once it is known (contract 7.1).
    """

    id: UUID
    created_at: Time
    action: Word
    outcome: Annotated[str, one_of(SUCCESS, DENIED)]
    actor: AuditActor
    project_id: UUID | None
    environment_id: UUID | None
    request_id: Word
    client_address: Annotated[str, text(2, 45)] | None
    reason: Annotated[str, text(0, 512)] | None
    detail: object
    index: Count | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Records, newest first, and the cursor of the older ones if there are any.

    Of the sealed log the oldest first, and where to go on, also at its end.
    """

    items: list[AuditRecord]
    next_cursor: Cursor | None = field(default=None)


@dataclass(frozen=True, slots=True)
class AuditExcerpt:
    """The newest records, and the names of what they name by id."""

    items: list[AuditRecord]
    names: Names


@dataclass(frozen=True, slots=True)
class AuditBrowse:
    """Records, newest first, and where to go on in both directions: `older` is a cursor, `newer` an `after`.

    `activity` is of the whole selection, not only of this page.
    """

    items: list[AuditRecord]
    older: UUID | None
    newer: UUID | None
    names: Names
    activity: Activity


def read_audit(call: UseCaseContext, asked: AuditFilter) -> AuditPage:
    """A page of what the caller may audit (specification, "Audit").

    Raises `NotFound` for a project or environment that is absent or that the caller may not audit, and
    `ValidationFailed` for a key without both (contract 5.11).
    """
    assert_admin_somewhere(call)
    reach = _reach(call, asked)
    rows, more = take_rows(call, reach, asked)
    items = _placed(call, rows)
    return AuditPage(items, str(items[-1].id) if more else None)


def read_sealed(call: UseCaseContext, asked: AuditFilter) -> AuditPage:
    """As `read_audit`, of sealed records by their index, from the cursor on (contract 7.4).

    A page looks at `WINDOW` positions at most, so it may end before its limit, or be empty, before the end of
    the log. The next cursor is behind the last record, or, where there are no more, behind those positions:
    what is found nowhere is looked for once. Raises `ValidationFailed` for what is no cursor, or is one into
    what was pruned, and `ServerMisconfigured` while a setting stops the sealing (contract 17.7).
    """
    assert_admin_somewhere(call)
    call.settings.require_sealing()
    reach, log = _reach(call, asked), sealed_log(call.connection, call.ring)
    if log is None and asked.cursor in (None, START):
        return AuditPage([], str(START))
    first = -1 if log is None else _first(log, asked.cursor)
    if log is None or not 0 <= first <= log.size:
        raise ValidationFailed.at("cursor", "Must be a cursor of this order.")
    if first < log.pruned:
        raise ValidationFailed(
            hint="What follows is in the operator's export. Without a cursor, begin at what is left.",
            issues=(Issue("cursor", "It leads into what was pruned."),),
        )
    end = min(log.size, first + WINDOW)
    rows = take_sealed(call, reach, asked, first, end)
    following = rows[-1]["position"] + 1 if len(rows) == asked.limit else end
    shown = _sees_positions(call)
    items = [replace(_record(row), index=row["position"] if shown else None) for row in rows]
    return AuditPage(items, str(log.cursors.cursor(following)))


def _first(log: SealedLog, cursor: UUID | None) -> int:
    """Where a page begins: of no cursor, the first that is not pruned; -1 of what is no cursor."""
    if cursor is None:
        return log.pruned
    try:
        return log.cursors.position(cursor)
    except ValueError:
        return -1


def _sees_positions(call: UseCaseContext) -> bool:
    """Gaps would tell others of records that they may not see."""
    return decide(call.snapshot, GLOBAL) is Role.ADMIN


def _placed(call: UseCaseContext, rows: list[RowMapping]) -> list[AuditRecord]:
    """The records with their indexes, if the caller may know them; that takes one statement."""
    indices = positions_of(call.connection, [row["id"] for row in rows]) if _sees_positions(call) else {}
    return [replace(_record(row), index=indices.get(row["id"])) for row in rows]


def export_audit(call: UseCaseContext, asked: AuditFilter) -> list[AuditRecord]:
    """What the caller may audit of what is asked for, newest first.

    It ends before the record that is more than `EXPORTED`, or whose detail makes more than `DETAILS`.
    """
    assert_admin_somewhere(call)
    found: list[AuditRecord] = []
    left = DETAILS
    for rows in _pages(call, _reach(call, asked), replace(asked, limit=CHUNK, cursor=None, after=None)):
        for row, record in zip(rows, _placed(call, rows), strict=True):
            left -= len(row["detail"] or "")
            if left < 0 or len(found) == EXPORTED:
                return found
            found.append(record)
    return found


def _pages(call: UseCaseContext, reach: AuditScope, asked: AuditFilter) -> Iterator[list[RowMapping]]:
    more = True
    while more:
        rows, more = take_rows(call, reach, asked)
        yield rows
        asked = replace(asked, cursor=rows[-1]["id"] if rows else None)


def browse_audit(call: UseCaseContext, asked: AuditFilter) -> AuditBrowse:
    """As `read_audit`, with what people want around the rows; three statements beside those of the reach."""
    assert_admin_somewhere(call)
    reach = _reach(call, asked)
    rows, more = take_rows(call, reach, asked)
    forward, items = asked.after is not None, [_record(row) for row in rows]
    return AuditBrowse(
        items,
        # Whoever came from one side can go back to it.
        older=rows[-1]["id"] if rows and (more or forward) else None,
        newer=rows[0]["id"] if rows and (more if forward else asked.cursor is not None) else None,
        names=_names(call, items, with_seal=_sees_positions(call)),
        activity=count_activity(call, reach, asked),
    )


def recent_audit(call: UseCaseContext, asked: AuditFilter) -> AuditExcerpt:
    """The newest of what is asked for, as `read_audit`; two statements beside those of the reach."""
    assert_admin_somewhere(call)
    rows, _ = take_rows(call, _reach(call, asked), asked)
    items = [_record(row) for row in rows]
    return AuditExcerpt(items, _names(call, items))


def _names(call: UseCaseContext, items: list[AuditRecord], *, with_seal: bool = False) -> Names:
    scopes = {one for item in items for one in (item.project_id, item.environment_id) if one is not None}
    actors = {item.actor.identity_id for item in items if item.actor.identity_id is not None}
    details = [item.detail for item in items if isinstance(item.detail, dict)]
    identities, groups = (
        {*filter(None, (id_in(detail.get(name)) for detail in details))}
        for name in ("identity_id", "group_id")
    )
    return look_up(call, scopes, actors | identities, groups, with_seal=with_seal)


def _reach(call: UseCaseContext, asked: AuditFilter) -> AuditScope:
    missing = [name for name in ("project", "environment") if getattr(asked, name) is None]
    if asked.key is not None and missing:
        raise ValidationFailed(
            issues=tuple(Issue(name, "Required: a key is sought in one place.") for name in missing)
        )
    if asked.environment is not None and asked.project is not None:
        return _environment_reach(call, asked.project, asked.environment)
    if asked.environment is not None:
        return _environments_reach(call, asked.environment)
    if asked.project is not None:
        return _project_reach(call, asked.project)
    return audit_scope(call)


def _project_reach(call: UseCaseContext, slug: str) -> AuditScope:
    if decide(call.snapshot, ScopePath(slug)) is not Role.ADMIN:
        record_denial(call, "access.denied", ScopePath(slug))
        raise NotFound(PROJECT_NOT_FOUND)
    found = call.connection.execute(select(project.c.id).where(project.c.slug == slug)).scalar()
    # The slug may have changed hands since the snapshot.
    if found is None or decide_row(call.snapshot, found) is not Role.ADMIN:
        raise NotFound(PROJECT_NOT_FOUND)
    return AuditScope(False, frozenset({found}), environment_ids(call, {found}))


def _environment_reach(call: UseCaseContext, project_slug: str, slug: str) -> AuditScope:
    at = ScopePath(project_slug, slug)
    if decide(call.snapshot, at) is not Role.ADMIN:
        record_denial(call, "access.denied", at)
        raise NotFound(ENVIRONMENT_NOT_FOUND)
    named = select(environment.c.id, environment.c.project_id).join_from(environment, project)
    named = named.where(environment.c.slug == slug, project.c.slug == project_slug)
    found = call.connection.execute(named).first()
    if found is None or decide_row(call.snapshot, found.project_id, found.id) is not Role.ADMIN:
        raise NotFound(ENVIRONMENT_NOT_FOUND)
    return AuditScope(False, environments=frozenset({found.id}))


def _environments_reach(call: UseCaseContext, slug: str) -> AuditScope:
    """Every environment of that slug that the caller may audit."""
    own, named = audit_scope(call), select(environment.c.id).where(environment.c.slug == slug)
    if not own.everything:
        named = named.where(environment.c.id.in_(own.environments))
    found = frozenset(call.connection.execute(named).scalars())
    if not found:
        note_denial_of_any(call, "access.denied", slug)
        raise NotFound(ENVIRONMENT_NOT_FOUND)
    return AuditScope(False, environments=found)


def _record(row: RowMapping) -> AuditRecord:
    return AuditRecord(
        row["id"],
        row["created_at"],
        row["action"],
        row["outcome"],
        AuditActor(row["identity_id"], row["actor_kind"], row["actor_subject"]),
        row["project_id"],
        row["environment_id"],
        row["request_id"],
        row["client_address"],
        row["reason"],
        _detail(row["detail"]),
    )


def _detail(text: str | None) -> object:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
