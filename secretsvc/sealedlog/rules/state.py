"""How the sealed log stands, for people who look after it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from secretsvc.audit.models import audit_record
from secretsvc.db.types import Expression, Query
from secretsvc.sealedlog.models import audit_export, audit_head, audit_pruned, audit_signer, audit_unsealed
from secretsvc.transparency.signed_note import Verifier


@dataclass(frozen=True, slots=True)
class LogState:
    """Times in epoch milliseconds; None is what never happened, or, of what waits, that nothing does.

    `signer_kid` is the master key that the envelope of the signing key is under, `public_key` what verifies
    the heads that it has signed since `signs_since`. `size` is how many records are sealed, `waiting_since`
    when the oldest of the others was made, `exported` how many the last export had. Since `complete_since`
    no record is missing: older ones are pruned.
    """

    signer_kid: str | None
    public_key: bytes | None
    signs_since: int | None
    size: int | None
    sealed_at: int | None
    waiting_since: int | None
    exported: int | None
    exported_at: int | None
    complete_since: int | None

    def signing_key(self, origin: str) -> str | None:
        """The id of the key that signs a log of that name now, in hex digits; None where there is none."""
        return None if self.public_key is None else Verifier(origin, self.public_key).key_id.hex()

    def lag(self, now: int) -> int:
        """For how many milliseconds the oldest record has waited to be sealed."""
        return 0 if self.waiting_since is None else max(0, now - self.waiting_since)


def log_state(connection: Connection) -> LogState:
    """All of it by one statement, which takes the same however long the log is."""
    return LogState(*connection.execute(_STATE).one())


def _only(statement: Query) -> Expression:
    return statement.scalar_subquery()


# What is listed and not there does not wait. PostgreSQL may take a join for a walk along the whole log.
_MADE = _only(select(audit_record.c.created_at).where(audit_record.c.id == audit_unsealed.c.record_id))
_WAITING = select(_MADE).select_from(audit_unsealed).where(_MADE.is_not(None))
_OLDEST = _WAITING.order_by(audit_unsealed.c.record_id).limit(1)
_STATE = select(
    _only(select(audit_signer.c.kid)),
    _only(select(audit_signer.c.public_key)),
    _only(select(audit_signer.c.created_at)),
    _only(select(audit_head.c.size)),
    _only(select(audit_head.c.sealed_at)),
    _only(_OLDEST),
    _only(select(audit_export.c.size)),
    _only(select(audit_export.c.exported_at)),
    _only(select(audit_pruned.c.complete_since)),
)
