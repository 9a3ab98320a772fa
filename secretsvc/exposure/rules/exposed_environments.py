"""Where an identity may have seen a value: environments, and their keys, in the order of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    and_,
    literal,
    or_,
    select,
    type_coerce,
    union_all,
)

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_key, audit_record
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.statements import by_code_point
from secretsvc.db.types import Columns, Query
from secretsvc.kernel.authorization import admin_grants
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import departed_version, revision, secret, secret_version
from secretsvc.tables.projects import environment, project


class CandidateEnvironment(NamedTuple):
    """An environment; with `whole` any of its keys may hold something, else those that say so themselves."""

    id: UUID
    project: str
    environment: str
    whole: bool


class ExposedKey(NamedTuple):
    """A secret of the environment at index `at` of a list; `version` is its newest, a tombstone or not."""

    at: int
    id: int
    key: str
    version: int


def candidate_environments(
    call: UseCaseContext, identity_id: UUID, start: tuple[str, str], most: int, *, inside: bool
) -> list[CandidateEnvironment]:
    """Environments that the caller administers, from the slugs `start` on, `inside` this one too.

    Those that the identity read or wrote, and those that are the source or the target of a copy. One
    statement.
    """
    dialect_name = call.connection.dialect.name
    slugs = [by_code_point(dialect_name, one) for one in (project.c.slug, environment.c.slug)]
    is_after = slugs[1] >= start[1] if inside else slugs[1] > start[1]
    statement = (
        select(environment.c.id, *slugs, _is_whole(identity_id))
        .join_from(environment, project)
        .where(covered_by(admin_grants(call.snapshot), environment.c.project_id, environment.c.id))
        .where(or_(*_touched(identity_id)))
        .where(or_(slugs[0] > start[0], and_(slugs[0] == start[0], is_after)))
        .order_by(*slugs)
        .limit(most)
    )
    rows = call.connection.execute(statement)
    return [CandidateEnvironment(row[0], row[1], row[2], bool(row[3])) for row in rows]


def keys_of(
    call: UseCaseContext,
    identity_id: UUID,
    environments: Sequence[CandidateEnvironment],
    start: str,
    most: int,
) -> list[ExposedKey]:
    """Keys of the environments, deleted ones too, at most so many of each; of the first from `start` on.

    One statement.
    """
    parts = []
    for at, within in enumerate(environments):
        columns = (type_coerce(literal(at), Integer).label("at"), secret.c.id, secret.c.key, secret.c.version)
        part = select(*columns).where(secret.c.environment_id == within.id)
        if at == 0:
            part = part.where(secret.c.key >= start)
        if not within.whole:
            part = part.where(or_(*_gave_values(identity_id, within.id), *_related()))
        parts.append(select(part.order_by(secret.c.key).limit(most).subquery()))
    found = [ExposedKey(*row) for row in call.connection.execute(union_all(*parts))]
    return sorted(found, key=lambda one: (one.at, one.key))


def is_found(statement: Query) -> ColumnElement[bool]:
    """Whether there is a row; PostgreSQL might read all that an EXISTS could ask for, to have it at hand."""
    return statement.limit(1).scalar_subquery().is_not(None)


def _touched(identity_id: UUID) -> list[ColumnElement[bool]]:
    return [
        is_found(_given(audit_record.c, identity_id, environment.c.id)),
        is_found(_wrote(identity_id)),
        is_found(
            select(revision.c.rev).where(
                revision.c.environment_id == environment.c.id, revision.c.copied_from.is_not(None)
            )
        ),
        is_found(select(audit_key.c.created_at).where(audit_key.c.environment_id == environment.c.id)),
        is_found(_copied_whole()),
    ]


def _copied_whole() -> Query:
    """By a range and an order: PostgreSQL might read the whole log for a key that it takes for frequent."""
    row = audit_record.c
    found = select(row.key).where(row.environment_id == environment.c.id, row.key.is_not(None))
    return found.where(row.key >= FULL_COPY, row.key <= FULL_COPY).order_by(row.key)


def _is_whole(identity_id: UUID) -> ColumnElement[bool]:
    row = audit_record.c
    exported = _given(row, identity_id, environment.c.id)
    of_all = [is_found(exported.where(row.key == one)) for one in (FULL_EXPORT, PAST_EXPORT, FULL_COPY)]
    return or_(is_found(_wrote(identity_id)), *of_all)


def _wrote(identity_id: UUID) -> Query:
    return select(revision.c.rev).where(
        revision.c.created_by == identity_id, revision.c.environment_id == environment.c.id
    )


def _gave_values(identity_id: UUID, environment_id: UUID) -> list[ColumnElement[bool]]:
    """Whether the identity was given values of a key of an environment, by a reveal or a copy."""
    rows = (audit_record.c, audit_key.c)
    return [is_found(_given(row, identity_id, environment_id).where(row.key == secret.c.key)) for row in rows]


def _given(row: Columns, identity_id: UUID, environment_id: ColumnElement[UUID] | UUID) -> Query:
    return select(row.given).where(
        row.identity_id == identity_id, row.environment_id == environment_id, row.given.is_not(None)
    )


def _related() -> list[ColumnElement[bool]]:
    """Whether what is in force was made of another version, or another of it."""
    own = secret_version.alias("own")
    return [
        is_found(
            select(own.c.version).where(
                own.c.secret_id == secret.c.id,
                own.c.version == secret.c.version,
                own.c.origin_secret_id.is_not(None),
            )
        ),
        *(
            is_found(
                select(made.c.version).where(
                    made.c.origin_secret_id == secret.c.id, made.c.origin_version == secret.c.version
                )
            )
            for made in (secret_version.alias("made"), departed_version)
        ),
    ]
