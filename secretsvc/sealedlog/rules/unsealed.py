"""The records that wait to be sealed, as a step takes them off the list, and what is listed beside these."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, select, true, tuple_

from secretsvc.audit.models import audit_record
from secretsvc.db.statements import PerDialect, in_parameter
from secretsvc.db.types import FoundRow, Query
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.sealedlog.models import audit_seal, audit_unsealed
from secretsvc.sealedlog.rules.ids import is_well_formed
from secretsvc.sealedlog.rules.leaves import FIELDS

log = logging.getLogger(__name__)
_complaints = LogThrottle()

LOST = "records that are listed to be sealed are missing (%d): verify the log"


class Waiting(NamedTuple):
    """Records to be sealed, in the order of their writing; the ids of what is listed though it is sealed."""

    records: Sequence[FoundRow]
    relisted: list[UUID]


def waiting_records(connection: Connection, limit: int) -> Waiting:
    """The records that wait and were written first, and what is listed among them beside these.

    What is listed and is not there stays on the list, for a verification to name, and is logged once. In
    statements of their own: PostgreSQL may take a join of the tables for a walk along the whole log.
    """
    name, relisted, lost = connection.dialect.name, list[UUID](), 0
    found: Sequence[FoundRow] = []
    rows = connection.execute(_OLDEST[name], {"limit": limit}).all()
    while rows and not found:
        ids = [one.record_id for one in rows]
        sealed = {*connection.execute(_SEALED[name], {"ids": ids}).scalars()}
        relisted += [one for one in ids if one in sealed]
        left = [one for one in ids if one not in sealed]
        there = {one.id: one for one in connection.execute(_RECORDS[name], {"ids": left})} if left else {}
        found = [there[one] for one in left if one in there]
        lost += len(left) - len(found)
        if not found:
            rows = connection.execute(_FURTHER[name], {"limit": limit, **rows[-1]._asdict()}).all()
    if lost and _complaints.passes("lost") is not None:
        log.error(LOST, lost)
    return Waiting(found, relisted)


def oldest(name: str) -> Query:
    """Asks for what was listed first.

    What SQL alone can list, an id that is none, waits for ever: a verification names it.
    """
    listed = audit_unsealed.c.record_id
    fit = is_well_formed(listed) if name == "sqlite" else true()
    return select(*_ORDER).where(fit).order_by(*_ORDER).limit(bindparam("limit"))


_id = audit_record.c.id
#: That of ids would be the order of the clocks of hosts.
_ORDER = (audit_unsealed.c.number, audit_unsealed.c.record_id)
_AFTER = tuple_(*_ORDER) > tuple_(*(bindparam(one.name, type_=one.type) for one in _ORDER))
_OLDEST = PerDialect(oldest)
_FURTHER = PerDialect(lambda name: oldest(name).where(_AFTER))
_SEALED = PerDialect(
    lambda name: select(audit_seal.c.record_id).where(in_parameter(audit_seal.c.record_id, "ids", name))
)
_RECORDS = PerDialect(lambda name: select(_id, *FIELDS).where(in_parameter(_id, "ids", name)))
