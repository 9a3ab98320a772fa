"""Writes that a client may send again: the first success is the answer to all (contract 8.2).

`first_success` and `keep_success` are called under the lock of the environment, so that a second request
waits for the first.
"""

from __future__ import annotations

import hashlib
import hmac
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, select, tuple_

from secretsvc.kernel.errors import Conflict, UnknownKid
from secretsvc.kernel.use_case import IdempotencyKey, UseCaseContext
from secretsvc.secrets.models import idempotent_write as kept
from secretsvc.secrets.queries.plan import PlannedChange
from secretsvc.secrets.queries.revision_changes import changes_of_revisions

KEPT_MS = 24 * 60 * 60 * 1000
#: So many that are older go with each that comes.
SWEPT = 100
OTHER_INPUT = "This Idempotency-Key was used for other input."
UNCERTAIN = "Whether this Idempotency-Key was used for other input cannot be told: its master key is gone."


def first_success(
    call: UseCaseContext, environment_id: UUID, action: str
) -> tuple[int, list[PlannedChange]] | None:
    """The revision and the changes of the write that was asked for before; None for the first.

    Raises `Conflict` where the same key came with other input, or nobody can tell.
    """
    once = call.once
    if once is None:
        return None
    is_fresh = kept.c.created_at > call.now - KEPT_MS
    row = call.connection.execute(
        select(kept).where(_is_it(call, environment_id, action, once), is_fresh)
    ).first()
    if row is None:
        return None
    if not hmac.compare_digest(_digest(call, once, row.kid), row.digest):
        raise Conflict(OTHER_INPUT)
    once.replayed = True
    changes, _ = changes_of_revisions(call, environment_id, [row.rev] if row.made else [])
    return row.rev, changes[row.rev]


def keep_success(call: UseCaseContext, environment_id: UUID, action: str, rev: int, *, made: bool) -> None:
    """Keeps what the answer is to whoever asks again; `made` says whether the revision is the write's own."""
    once = call.once
    if once is None:
        return
    connection, kid = call.connection, call.ring.active_kid
    connection.execute(delete(kept).where(_is_it(call, environment_id, action, once)))
    sweep(connection, call.now, SWEPT)
    row: dict[str, object] = {
        "environment_id": environment_id,
        "identity_id": call.actor.identity_id,
        "action": action,
        "key": once.key,
        "digest": _digest(call, once, kid),
        "kid": kid,
        "rev": rev,
        "made": made,
        "created_at": call.now,
    }
    connection.execute(insert(kept).values(row))


def _is_it(
    call: UseCaseContext, environment_id: UUID, action: str, once: IdempotencyKey
) -> ColumnElement[bool]:
    return and_(
        kept.c.environment_id == environment_id,
        kept.c.identity_id == call.actor.identity_id,
        kept.c.action == action,
        kept.c.key == once.key,
    )


def is_any_old(connection: Connection, now: int) -> bool:
    """Whether a write is kept for no use; `now` is in epoch milliseconds."""
    found: bool = connection.execute(select(exists().where(kept.c.created_at <= now - KEPT_MS))).scalar_one()
    return found


def sweep(connection: Connection, now: int, most: int) -> int:
    """Remove at most this many of the oldest rows that are no longer replayed; return how many.

    It waits for no one: rows that another transaction sweeps are left to that one.
    """
    names = kept.primary_key.columns
    expired = select(*names).where(kept.c.created_at <= now - KEPT_MS).order_by(kept.c.created_at).limit(most)
    # Not as a subquery of the deletion: PostgreSQL can evaluate it several times, and each time it skips the
    # rows that are removed already and finds others.
    found = connection.execute(expired.with_for_update(skip_locked=True)).all()
    if found:
        connection.execute(delete(kept).where(tuple_(*names).in_([tuple(row) for row in found])))
    return len(found)


def _digest(call: UseCaseContext, once: IdempotencyKey, kid: str) -> bytes:
    try:
        key = call.ring.subkey(b"idempotency", kid=kid)
    except UnknownKid:
        raise Conflict(UNCERTAIN) from None
    return hmac.new(key, once.asked, hashlib.sha256).digest()
