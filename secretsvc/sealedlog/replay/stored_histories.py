"""The versions and revisions that the tables hold, and which of them the log does not explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from secretsvc.db.types import FoundRow, Query
from secretsvc.sealedlog.replay.histories import History, reason_digest, shared
from secretsvc.sealedlog.replay.row_states import UNTOLD, RevisionState, VersionState
from secretsvc.sealedlog.replay.stored_rows import (
    MISSING,
    NOT_TOLD,
    OTHER,
    all_rows,
    as_read,
    differing,
)
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.secrets.queries.origins import ORIGIN, origin_digest

VERSION = "version {} of key {} of environment {}"
REVISION = "revision {} of environment {}"
#: What a revision lacks that is older than migration 0004.
_NOT_KEPT = {"action", "reason"}


class StoredVersion(NamedTuple):
    """A row of a version, with the key and the environment of its secret."""

    environment_id: str | None
    key: str | None
    number: int
    created_at: int
    created_by: str | None
    version: VersionState


def read_histories(connection: Connection) -> dict[str, History]:
    """Return the history of each environment as the tables have it."""
    found: dict[str, History] = {}
    for environment_id, rev, made in _revisions(connection):
        found.setdefault(environment_id, History()).revisions[rev] = shared(made)
    for row in _versions(connection):
        if row.environment_id is not None and row.key is not None:
            history = found.setdefault(row.environment_id, History())
            history.versions.setdefault(row.key, {})[row.number] = row.version
    return found


def unexplained_histories(connection: Connection, histories: dict[str, History]) -> Iterator[str]:
    """Yield a line for each version and revision that is not as told; uses the histories up."""
    for row in _versions(connection):
        yield from _version_problems(row, histories)
    for environment_id, history in histories.items():
        for key, held in history.versions.items():
            for number in held:
                yield MISSING.format(VERSION.format(number, key, environment_id))
    yield from _revision_problems(connection, histories)
    for environment_id, history in histories.items():
        for rev in history.revisions:
            yield MISSING.format(REVISION.format(rev, environment_id))


def _version_problems(row: StoredVersion, histories: Mapping[str, History]) -> Iterator[str]:
    history = histories.get(str(row.environment_id), History())
    told = history.versions.get(str(row.key), {}).pop(row.number, None)
    thing = VERSION.format(row.number, row.key, row.environment_id)
    if told is None:
        if not history.is_unknown(row.version.rev):
            yield NOT_TOLD.format(thing)
        return
    wanted = told if told.origin != UNTOLD else told._replace(origin=row.version.origin)
    other = differing(row.version, wanted)
    made = history.revisions.get(told.rev)
    if made is not None:
        # What a write makes has its time and its author.
        other += [name for name in ("created_at", "created_by") if getattr(row, name) != getattr(made, name)]
    if other:
        yield OTHER.format(thing, ", ".join(other))


def _revision_problems(connection: Connection, histories: Mapping[str, History]) -> Iterator[str]:
    kept = revision.c.action.is_not(None)
    first_kept = connection.execute(select(func.min(revision.c.created_at)).where(kept)).scalar()
    for environment_id, rev, row in _revisions(connection):
        history = histories.get(environment_id, History())
        told, thing = history.revisions.pop(rev, None), REVISION.format(rev, environment_id)
        if told is None:
            if not history.is_unknown(rev):
                yield NOT_TOLD.format(thing)
            continue
        other = differing(row, told)
        lacks = row.action is None and row.reason is None and _is_before(row.created_at, first_kept)
        if other and not (lacks and {*other} <= _NOT_KEPT):
            yield OTHER.format(thing, ", ".join(other))


def _is_before(time: object, first: object) -> bool:
    """Whether a time is from before another; on SQLite both may be anything. None is never."""
    return first is None or (isinstance(time, int) and isinstance(first, int) and time < first)


def _versions(connection: Connection) -> Iterator[StoredVersion]:
    for row in all_rows(connection, _version_rows()):
        version = VersionState(row.rev, bool(row.deleted), _origin(row))
        yield StoredVersion(row.environment_id, row.key, row.version, row.created_at, row.created_by, version)


def _origin(row: FoundRow) -> str | None:
    """Return the digest of the origin of a row; whatever is there in part has one, too."""
    origin = (row.origin_environment_id, row.origin_secret_id, row.origin_version)
    return None if origin == (None, None, None) else origin_digest(*origin)


def _revisions(connection: Connection) -> Iterator[tuple[str, int, RevisionState]]:
    for environment_id, rev, *rest in all_rows(connection, _revision_rows()):
        made = RevisionState(*rest)
        yield environment_id, rev, made._replace(reason=reason_digest(made.reason))


def _version_rows() -> Query:
    # Not made with the module: a foreign key takes its type from the other table, which is imported later.
    return (
        select(
            as_read(secret.c.environment_id),
            secret.c.key,
            *(secret_version.c[name] for name in ("version", "rev", "created_at")),
            as_read(secret_version.c.created_by),
            secret_version.c.envelope.is_(None).label("deleted"),
            *(as_read(one) for one in ORIGIN),
        )
        .select_from(secret_version.outerjoin(secret, secret.c.id == secret_version.c.secret_id))
        .order_by(secret_version.c.secret_id, secret_version.c.version)
    )


def _revision_rows() -> Query:
    columns = (as_read(revision.c[name]) for name in ("environment_id", "rev", *RevisionState._fields))
    return select(*columns).order_by(revision.c.environment_id, revision.c.rev)
