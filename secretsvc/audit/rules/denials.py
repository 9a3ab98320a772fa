"""Writing denials: each identity's up to a limit, and of an absent thing as much as of an invisible one.

An invisible thing costs a durable record. For an absent one the same is written and undone, before a commit
that is durable all the same, so that the time of an answer does not tell one from the other (decision 0024).
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from uuid import UUID

from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from sqlalchemy import BigInteger, Connection, Engine, bindparam, text

from secretsvc.audit.models import EVERYWHERE, REFUSALS
from secretsvc.audit.rules.records import DENIED, write_record
from secretsvc.db.base import Id
from secretsvc.db.engine import write_transaction
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.use_case import Denial, UseCaseContext

log = logging.getLogger(__name__)

#: Identities of which it is known how much was left out, at most.
REMEMBERED = 10_000


class DenialLog:
    """Writes the refusals that calls met, up to `DENIAL_LIMIT` (contract 3.19); one for a process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limiter = FixedWindowRateLimiter(MemoryStorage())
        self._left_out = SuppressedCounts(REMEMBERED)

    def admit(self, call: UseCaseContext) -> list[Denial]:
        """Those of a call's denials that are within the limit; the others are counted.

        Raises `ServerMisconfigured` for a malformed limit.
        """
        rate, key = self._settings.denial_limit, str(call.actor.identity_id)
        if rate is None:
            return call.denials
        within = []
        for denial in call.denials:
            if self._limiter.hit(rate, key):
                within.append(denial)
            else:
                self._left_out.add(call.actor.identity_id, 0 if denial.absent else 1)
        return within

    def write(self, engine: Engine, call: UseCaseContext, denials: Iterable[Denial]) -> None:
        """Writes denials in a transaction of their own; the first real one tells how many were left out."""
        identity_id = call.actor.identity_id
        untold = left_out = self._left_out.take(identity_id)
        try:
            with write_transaction(engine) as connection:
                # Kept in any case: it makes the commit durable, and has an identity's refusals wait in turn.
                connection.execute(_COUNT, _counted(call, REFUSALS))
                for denial in denials:
                    _write_one(connection, call, denial, untold)
                    untold = untold if denial.absent else 0
        except BaseException:
            untold = left_out
            raise
        finally:
            self._left_out.add(identity_id, untold)


class SuppressedCounts:
    """How many denials of an identity were left out, since a record told so; of at most `most` identities."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[UUID | None, int] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, identity_id: UUID | None, count: int) -> None:
        """Adds to an identity's; where there are too many, what was added to longest ago goes to the log."""
        with self._lock:
            total = self._counts.pop(identity_id, 0) + count
            if total:
                self._counts[identity_id] = total
            forgotten = self._counts.popitem(last=False) if len(self._counts) > self._most else None
        if forgotten is not None:
            log.warning("of identity %s %d denials were not recorded, and no record will tell", *forgotten)

    def take(self, identity_id: UUID | None) -> int:
        """An identity's count, which is 0 from now on."""
        with self._lock:
            return self._counts.pop(identity_id, 0)


def _write_one(connection: Connection, call: UseCaseContext, denial: Denial, left_out: int) -> None:
    connection.execute(text("SAVEPOINT denial"))
    write_record(
        connection,
        call.actor,
        call.now,
        call.request_id,
        denial.action,
        outcome=DENIED,
        project_id=denial.project_id,
        environment_id=denial.environment_id,
        detail={"unrecorded": left_out} if left_out else None,
        client_address=call.client_address,
    )
    # The row that is there already: a repeated denial finds its own, too.
    scope_id = denial.environment_id or denial.project_id or EVERYWHERE
    connection.execute(_COUNT, _counted(call, REFUSALS if denial.absent else scope_id))
    connection.execute(_UNDO if denial.absent else _KEEP)


def _counted(call: UseCaseContext, scope_id: UUID) -> dict[str, object]:
    return {"identity_id": call.actor.identity_id, "scope_id": scope_id, "now": call.now}


_UNDO = text("ROLLBACK TO denial")
_KEEP = text("RELEASE denial")
_COUNT = text(
    "INSERT INTO denial_tally (identity_id, scope_id, denials, first_denied_at, last_denied_at)"
    " VALUES (:identity_id, :scope_id, 1, :now, :now)"
    " ON CONFLICT (identity_id, scope_id) DO UPDATE SET denials = denial_tally.denials + 1,"
    " first_denied_at = CASE WHEN excluded.first_denied_at < denial_tally.first_denied_at"
    " THEN excluded.first_denied_at ELSE denial_tally.first_denied_at END,"
    " last_denied_at = CASE WHEN excluded.last_denied_at > denial_tally.last_denied_at"
    " THEN excluded.last_denied_at ELSE denial_tally.last_denied_at END"
).bindparams(
    bindparam("identity_id", type_=Id),
    bindparam("scope_id", type_=Id),
    bindparam("now", type_=BigInteger),
)
