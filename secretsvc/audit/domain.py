"""Reading the audit log: what the caller may see, newest first, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Column, ColumnElement, RowMapping, Select, select, union

from secretsvc.access.rules import ENVIRONMENT_NOT_FOUND, PROJECT_NOT_FOUND, assert_admin_somewhere
from secretsvc.audit.models import audit_record, is_denied
from secretsvc.audit.narrowing import Reach, environments_of, own_reach
from secretsvc.audit.rules import DENIED, SUCCESS
from secretsvc.kernel.authorization import Address, Role, decide
from secretsvc.kernel.call import Call, Denial
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.ids import earliest_id
from secretsvc.projects.models import environment, project

# SQLite takes at most 500 parts of a union; fewer keep the statement readable in a plan.
PARTS = 100
# Ids are in the order of time, and lead to a time without an index of its own: a record's id is made when
# it is written, a little later than the request's one clock value, or, by a clock set back, earlier.
LAG_MS = 600_000


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What is asked for; times in epoch milliseconds, `since` inclusive and `until` exclusive."""

    project: str | None = None
    environment: str | None = None
    actor: str | None = None
    action: str | None = None
    outcome: str | None = None
    since: int | None = None
    until: int | None = None
    cursor: UUID | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class AuditActor:
    """Who acted; the system has neither identity nor kind."""

    identity_id: UUID | None
    kind: str | None
    subject: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the log; `detail` is None where its text cannot be parsed."""

    id: UUID
    created_at: int
    action: str
    outcome: str
    actor: AuditActor
    project_id: UUID | None
    environment_id: UUID | None
    request_id: str
    reason: str | None
    detail: Any


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Records, newest first, and the cursor of the older ones if there are any."""

    items: list[AuditRecord]
    next_cursor: str | None = field(default=None)


def read_audit(call: Call, asked: AuditFilter) -> AuditPage:
    """A page of what the caller may audit (specification, "Audit").

    Raises `NotFound` for a project or environment that is absent or that the caller may not audit.
    """
    assert_admin_somewhere(call)
    reach = _reach(call, asked)
    rows = _newest(call, reach, asked)
    items = [_record(row) for row in rows[: asked.limit]]
    more = len(rows) > asked.limit
    return AuditPage(items, str(items[-1].id) if more else None)


def _reach(call: Call, asked: AuditFilter) -> Reach:
    if asked.environment is not None:
        return _environment_reach(call, asked.project, asked.environment)
    if asked.project is not None:
        return _project_reach(call, asked.project)
    return own_reach(call)


def _project_reach(call: Call, slug: str) -> Reach:
    found = call.connection.execute(select(project.c.id).where(project.c.slug == slug)).scalar()
    if found is None:
        call.absences += 1
        raise NotFound(PROJECT_NOT_FOUND)
    if decide(call.snapshot, Address(slug)) is not Role.ADMIN:
        call.denials.append(Denial("access.denied", project_id=found))
        raise NotFound(PROJECT_NOT_FOUND)
    return Reach(False, frozenset({found}), environments_of(call, {found}))


def _environment_reach(call: Call, project_slug: str | None, slug: str) -> Reach:
    """The environment of the pair; unpaired, every one of that slug that the caller may audit."""
    statement = (
        select(environment.c.id, project.c.slug.label("project"))
        .join_from(environment, project)
        .where(environment.c.slug == slug)
    )
    if project_slug is not None:
        statement = statement.where(project.c.slug == project_slug)
    found = call.connection.execute(statement).all()
    mine = {row.id for row in found if decide(call.snapshot, Address(row.project, slug)) is Role.ADMIN}
    if mine:
        return Reach(False, environments=frozenset(mine))
    if not found:
        call.absences += 1
    else:
        only = found[0].id if len(found) == 1 else None
        call.denials.append(Denial("access.denied", environment_id=only))
    raise NotFound(ENVIRONMENT_NOT_FOUND)


def _newest(call: Call, reach: Reach, asked: AuditFilter) -> list[RowMapping]:
    """One row more than asked for, if there are as many.

    Each scope's newest rows come off an index of its own, and the newest of those are taken: one
    condition over all scopes would walk the log until enough rows happened to match.
    """
    row = audit_record.c
    parts = [_newest_ids(asked)] if reach.everything else []
    parts += [_newest_ids(asked, row.project_id, one) for one in sorted(reach.projects)]
    parts += [_newest_ids(asked, row.environment_id, one) for one in sorted(reach.environments)]
    rows: dict[UUID, RowMapping] = {}
    for start in range(0, len(parts), PARTS):
        ids = parts[start : start + PARTS]
        statement = select(audit_record).where(row.id.in_(_merged(ids, asked.limit)))
        rows |= {found["id"]: found for found in call.connection.execute(statement).mappings()}
    newest = sorted(rows.values(), key=lambda found: found["id"], reverse=True)
    return newest[: asked.limit + 1]


def _newest_ids(
    asked: AuditFilter, scope: Column[UUID] | None = None, value: UUID | None = None
) -> Select[Any]:
    row = audit_record.c
    statement = select(row.id).where(*_conditions(asked, scope is not None))
    if scope is not None:
        # SQLite keeps no statistics, and might rather walk all denials, or all that an actor ever did.
        index = f"INDEXED BY ix_audit_record_{scope.name}"
        statement = statement.where(scope == value).with_hint(audit_record, index, "sqlite")
    statement = statement.order_by(row.id.desc()).limit(asked.limit + 1)
    # SQLite orders and cuts a part of a union only inside a query of its own.
    return select(statement.subquery().c.id)


def _merged(parts: list[Select[Any]], limit: int) -> Select[Any]:
    merged = union(*parts).subquery() if len(parts) > 1 else parts[0].subquery()
    newest = select(merged.c.id).order_by(merged.c.id.desc()).limit(limit + 1).subquery()
    return select(newest.c.id)


def _conditions(asked: AuditFilter, scoped: bool) -> list[ColumnElement[bool]]:
    row = audit_record.c
    conditions: list[ColumnElement[bool]] = []
    if asked.actor is not None:
        # Subjects of people are lower-cased, names of service tokens are not (contract 4.11).
        conditions.append(row.actor_subject.in_({asked.actor, asked.actor.lower()}))
    if asked.action is not None:
        conditions.append(row.action == asked.action)
    if asked.outcome is not None:
        conditions.append(_has_outcome(asked.outcome, scoped))
    if asked.since is not None:
        conditions += [row.created_at >= asked.since, row.id >= earliest_id(asked.since - LAG_MS)]
    if asked.until is not None:
        conditions += [row.created_at < asked.until, row.id < earliest_id(asked.until + LAG_MS)]
    if asked.cursor is not None:
        conditions.append(row.id < asked.cursor)
    return conditions


def _has_outcome(outcome: str, scoped: bool) -> ColumnElement[bool]:
    if outcome != DENIED:
        return audit_record.c.outcome == outcome
    # Within a scope the same is said so that the index of all denials will not do: PostgreSQL would read
    # the whole of it for each part.
    return audit_record.c.outcome != SUCCESS if scoped else is_denied()


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
        row["reason"],
        _detail(row["detail"]),
    )


def _detail(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
