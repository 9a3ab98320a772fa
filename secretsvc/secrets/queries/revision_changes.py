"""What revisions did to the keys of an environment, read off the versions that they made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import BigInteger, and_, bindparam, select

from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.plan import ADDED, CHANGED, REMOVED, PlannedChange
from secretsvc.secrets.queries.rows import lateral_versions

#: So many changes are read of several revisions at most, unless the newest has more.
MAX_CHANGES = 10_000
UNBOUNDED = 2**31 - 1


def changes_of_revisions(
    call: UseCaseContext, environment_id: UUID, revs: Sequence[int]
) -> tuple[Mapping[int, list[PlannedChange]], int]:
    """What revisions, newest first, did to the keys; and the oldest of which all was read.

    They are as in a write result, sorted by key.
    """
    found: dict[int, list[PlannedChange]] = defaultdict(list)
    if not revs:
        return found, 0
    newest, oldest = revs[0], revs[-1]
    statement = _CHANGES[call.connection.dialect.name]
    parameters = {"environment_id": environment_id, "newest": newest, "limit": MAX_CHANGES + 1}
    rows = call.connection.execute(statement, parameters | {"oldest": oldest}).all()
    if len(rows) > MAX_CHANGES:
        # The last may have more that was not read; where it is the first too, it is read whole.
        oldest = min(rows[-1].rev + 1, newest)
        if rows[-1].rev == newest:
            rows = call.connection.execute(
                statement, parameters | {"oldest": newest, "limit": UNBOUNDED}
            ).all()
    for row in rows:
        found[row.rev].append(PlannedChange(row.key, _kind(row.kid, row.kid_before), row.version))
    return found, oldest


def _kind(kid: str | None, before: str | None) -> str:
    if kid is None:
        return REMOVED
    return ADDED if before is None else CHANGED


def _changes(dialect_name: str) -> Query:
    is_within = and_(
        secret_version.c.secret_id == secret.c.id,
        secret_version.c.rev.between(bindparam("oldest"), bindparam("newest")),
    )
    version, on = lateral_versions(dialect_name, is_within)
    before = secret_version.alias("before")
    # None where there is none, or a tombstone.
    kid_before = (
        select(before.c.kid)
        .where(before.c.secret_id == version.c.secret_id, before.c.version == version.c.version - 1)
        .correlate(version)
        .scalar_subquery()
    )
    return (
        select(version.c.rev, secret.c.key, version.c.version, version.c.kid, kid_before.label("kid_before"))
        .join_from(secret, version, on)
        .where(secret.c.environment_id == bindparam("environment_id"))
        .order_by(version.c.rev.desc(), secret.c.key)
        .limit(bindparam("limit", type_=BigInteger))
    )


_CHANGES = PerDialect(_changes)
