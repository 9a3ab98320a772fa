"""Envelopes in bulk: to count them by key, to take a page of them, to put a page back."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    and_,
    bindparam,
    delete,
    exists,
    func,
    select,
    tuple_,
    update,
)

from secretsvc.db.types import FoundRow, Query
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.models import audit_signer
from secretsvc.secrets.models import master_key, secret, secret_version
from secretsvc.secrets.queries.rows import SealedValue
from secretsvc.secrets.write.sealing import MAY_SEAL
from secretsvc.tables.projects import environment, project

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RekeyRow:
    """An envelope with its key in the table, and what its AAD names."""

    secret_id: int
    sealed: SealedValue


@dataclass(frozen=True, slots=True)
class EnvelopeLocation:
    """Where an envelope is, by the slugs and the key that its owners know."""

    project: str
    environment: str
    key: str
    version: int


class RekeyProgress(NamedTuple):
    """How many envelopes name other kids than the active one, and whether that one may seal."""

    remaining: int
    may_seal: bool


def count_by_kid(call: UseCaseContext) -> dict[str, int]:
    """How many envelopes, current and historical, name each kid."""
    return {row.kid: row.rows for row in call.connection.execute(_COUNT)}


def adopted_rows(call: UseCaseContext) -> Sequence[FoundRow]:
    """Kid, time of adoption and of retirement of each key, in the order of adoption."""
    return call.connection.execute(_ADOPTED).all()


def fullest_row(call: UseCaseContext) -> FoundRow | None:
    """The address of the environment with the most keys, with their number; None where there is none."""
    return call.connection.execute(_FULLEST).first()


def count_others(call: UseCaseContext, kid: str) -> RekeyProgress:
    """How many envelopes name another kid, and whether this one may seal, by one statement."""
    row = call.connection.execute(_COUNT_OTHERS, {"kid": kid, "active_kid": kid}).one()
    return RekeyProgress(*row)


def find_unused(call: UseCaseContext, kid: str) -> list[str]:
    """The keys which a process whose active key is `kid` may retire now."""
    return [*call.connection.execute(_UNUSED, {"active_kid": kid}).scalars()]


def delete_adoption(call: UseCaseContext, kid: str) -> None:
    """Takes an adopted key out, so that it can be adopted anew."""
    call.connection.execute(_FORGET, {"kid": kid})


def retire_unused(call: UseCaseContext, kid: str) -> None:
    """Retires them: no envelope names them, and they are not the newest adopted."""
    retired = call.connection.execute(_RETIRE, {"active_kid": kid, "now": call.now})
    for other in sorted(retired.scalars().all()):
        log.info("master key %s has no envelope and is retired: it seals no more", other)


def load_page(call: UseCaseContext, kid: str, limit: int) -> list[RekeyRow]:
    """At most `limit` envelopes under other kids, which nobody else takes before the transaction ends.

    A range on either side of the kid is read off the index; "not equal" would read the whole table each time.
    """
    parameters = {"kid": kid, "limit": limit}
    rows = call.connection.execute(_BELOW, parameters).all()
    if len(rows) < limit:
        parameters["limit"] = limit - len(rows)
        rows = [*rows, *call.connection.execute(_ABOVE, parameters).all()]
    return [_row(row) for row in rows]


def save_page(call: UseCaseContext, envelopes: list[Mapping[str, object]]) -> None:
    """Writes new envelopes: `row_id`, `row_version`, `old_kid`, `new_envelope`, `new_kid` each."""
    call.connection.execute(_PUT, envelopes)


def every_row(call: UseCaseContext, page: int) -> Iterator[tuple[RekeyRow, EnvelopeLocation]]:
    """Every envelope with its location, a page at a time, so that memory does not grow with their number."""
    after = (0, 0)
    while True:
        parameters = {"secret_id": after[0], "version": after[1], "limit": page}
        rows = call.connection.execute(_EVERY, parameters).all()
        for row in rows:
            yield _row(row), EnvelopeLocation(row.project, row.environment, row.key, row.version)
        if len(rows) < page:
            return
        after = (rows[-1].secret_id, rows[-1].version)


def _row(row: FoundRow) -> RekeyRow:
    environment_id: UUID = row.environment_id
    return RekeyRow(row.secret_id, SealedValue(environment_id, row.key, row.version, row.envelope, row.kid))


_SEALED = (
    secret_version.c.secret_id,
    secret_version.c.version,
    secret_version.c.envelope,
    secret_version.c.kid,
    secret.c.environment_id,
    secret.c.key,
)


def _others(condition: ColumnElement[bool]) -> Query:
    return (
        select(*_SEALED)
        .join_from(secret_version, secret)
        .where(condition)
        .order_by(secret_version.c.kid, secret_version.c.secret_id, secret_version.c.version)
        .limit(bindparam("limit"))
        .with_for_update(of=secret_version, skip_locked=True)
    )


def _how_many(condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(secret_version).where(condition).scalar_subquery()


_ADOPTED = select(master_key.c.kid, master_key.c.adopted_at, master_key.c.retired_at).order_by(
    master_key.c.place
)
_HELD = (
    select(secret.c.environment_id, func.count().label("keys"))
    .where(~secret.c.deleted)
    .group_by(secret.c.environment_id)
    .order_by(func.count().desc(), secret.c.environment_id)
    .limit(1)
    .subquery()
)
_FULLEST = (
    select(project.c.slug, project.c.name, environment.c.slug, environment.c.name, _HELD.c["keys"])
    .join_from(_HELD, environment, environment.c.id == _HELD.c.environment_id)
    .join(project, project.c.id == environment.c.project_id)
)
# The table again, for what is asked of another key than the one in question.
_KEY = master_key.alias("other_key")
_IS_BELOW = secret_version.c.kid < bindparam("kid")
_IS_ABOVE = secret_version.c.kid > bindparam("kid")
_BELOW, _ABOVE = _others(_IS_BELOW), _others(_IS_ABOVE)
_COUNT = (
    select(secret_version.c.kid, func.count().label("rows"))
    .where(secret_version.c.kid.is_not(None))
    .group_by(secret_version.c.kid)
)
# Both ranges of the index again, so that what has been moved is not counted over and over.
_COUNT_OTHERS = select(_how_many(_IS_BELOW) + _how_many(_IS_ABOVE), MAY_SEAL)
_IS_UNUSED = and_(
    master_key.c.retired_at.is_(None),
    master_key.c.place < select(func.max(_KEY.c.place)).scalar_subquery(),
    ~exists(select(secret_version.c.kid).where(secret_version.c.kid == master_key.c.kid)),
    ~exists(select(audit_signer.c.kid).where(audit_signer.c.kid == master_key.c.kid)),
    exists(select(_KEY.c.kid).where(_KEY.c.kid == bindparam("active_kid"), _KEY.c.retired_at.is_(None))),
)
_FORGET = delete(master_key).where(master_key.c.kid == bindparam("kid"))
_UNUSED = select(master_key.c.kid).where(_IS_UNUSED)
_RETIRE = update(master_key).where(_IS_UNUSED).values(retired_at=bindparam("now")).returning(master_key.c.kid)
_PUT = (
    update(secret_version)
    .where(
        secret_version.c.secret_id == bindparam("row_id"),
        secret_version.c.version == bindparam("row_version"),
        # A row that has moved already is not moved again.
        secret_version.c.kid == bindparam("old_kid"),
    )
    .values(envelope=bindparam("new_envelope"), kid=bindparam("new_kid"))
)
_EVERY = (
    select(
        *_SEALED,
        environment.c.slug.label("environment"),
        project.c.slug.label("project"),
    )
    .join_from(secret_version, secret)
    .join(environment, environment.c.id == secret.c.environment_id)
    .join(project, project.c.id == environment.c.project_id)
    .where(
        secret_version.c.kid.is_not(None),
        tuple_(secret_version.c.secret_id, secret_version.c.version)
        > tuple_(bindparam("secret_id"), bindparam("version")),
    )
    .order_by(secret_version.c.secret_id, secret_version.c.version)
    .limit(bindparam("limit"))
)
