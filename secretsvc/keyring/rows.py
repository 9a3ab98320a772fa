"""Envelopes in bulk: to count them by key, to take a page of them, to put a page back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, Select, bindparam, func, select, tuple_, update

from secretsvc.kernel.call import Call
from secretsvc.projects.models import environment, project
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.rules import Sealed


@dataclass(frozen=True, slots=True)
class Row:
    """An envelope with its place: its key in the table, and what it is bound to."""

    secret_id: int
    sealed: Sealed


@dataclass(frozen=True, slots=True)
class Place:
    """Where an envelope is, in the words of those who own it."""

    project: str
    environment: str
    key: str
    version: int


def count_by_kid(call: Call) -> dict[str, int]:
    """How many envelopes, current and historical, name each kid."""
    return {row.kid: row.rows for row in call.connection.execute(_COUNT)}


def count_others(call: Call, kid: str) -> int:
    """How many envelopes name another kid."""
    remaining: int = call.connection.execute(_COUNT_OTHERS, {"kid": kid}).scalar_one()
    return remaining


def take_page(call: Call, kid: str, limit: int) -> list[Row]:
    """At most `limit` envelopes under other kids, which nobody else takes before the transaction ends.

    A range on either side of the kid is read off the index; "not equal" would read the whole table each time.
    """
    parameters = {"kid": kid, "limit": limit}
    rows = call.connection.execute(_BELOW, parameters).all()
    if len(rows) < limit:
        parameters["limit"] = limit - len(rows)
        rows = [*rows, *call.connection.execute(_ABOVE, parameters).all()]
    return [_row(row) for row in rows]


def put_page(call: Call, envelopes: list[Mapping[str, Any]]) -> None:
    """Writes new envelopes: `row_id`, `row_version`, `old_kid`, `new_envelope`, `new_kid` each."""
    call.connection.execute(_PUT, envelopes)


def every_row(call: Call, page: int) -> Iterator[tuple[Row, Place]]:
    """Every envelope with its place, a page at a time, so that memory does not grow with their number."""
    after = (0, 0)
    while True:
        parameters = {"secret_id": after[0], "version": after[1], "limit": page}
        rows = call.connection.execute(_EVERY, parameters).all()
        for row in rows:
            yield _row(row), Place(row.project, row.environment, row.key, row.version)
        if len(rows) < page:
            return
        after = (rows[-1].secret_id, rows[-1].version)


def _row(row: Any) -> Row:
    environment_id: UUID = row.environment_id
    return Row(row.secret_id, Sealed(environment_id, row.key, row.version, row.envelope, row.kid))


_SEALED = (
    secret_version.c.secret_id,
    secret_version.c.version,
    secret_version.c.envelope,
    secret_version.c.kid,
    secret.c.environment_id,
    secret.c.key,
)


def _others(condition: ColumnElement[bool]) -> Select[Any]:
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


_IS_BELOW = secret_version.c.kid < bindparam("kid")
_IS_ABOVE = secret_version.c.kid > bindparam("kid")
_BELOW, _ABOVE = _others(_IS_BELOW), _others(_IS_ABOVE)
_COUNT = (
    select(secret_version.c.kid, func.count().label("rows"))
    .where(secret_version.c.kid.is_not(None))
    .group_by(secret_version.c.kid)
)
# Both ranges of the index again, so that what has been moved is not counted over and over.
_COUNT_OTHERS = select(_how_many(_IS_BELOW) + _how_many(_IS_ABOVE))
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
