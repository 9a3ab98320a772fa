"""The versions that can be items of exposure, each found by index from the one before it.

These are the versions that the identity was given or wrote, those made from another version, and the newest
of each key. A history can be of any length, so it is not read but crossed in steps, by a recursive query with
rows of three kinds:

    row         is_candidate   is_lookup   version                      read, given, made
    ---------   ------------   ---------   --------------------------   ----------------------------------
    start       0              0           the window's `after`         (0)
    lookup      0              1           that of the row before       what comes next after this version:
                                                                        the next revision that was read whole,
                                                                        the next version that was revealed or
                                                                        copied, the next one that was written
                                                                        or made from another
    candidate   1              0           the least of these, or       (0), `made` stays until it is passed
                                           the newest of the key
    lookup …    once the newest version is reached: the start of the next window

A start or a candidate is followed by a lookup, a lookup by a candidate; `number` counts the candidates. What
does not come next is `NEVER`, larger than all versions.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    FromClause,
    Integer,
    Subquery,
    Table,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_key, audit_record
from secretsvc.db.base import Id
from secretsvc.db.types import Columns, Expression
from secretsvc.secrets.models import secret, secret_version

#: Larger than every version and revision.
NEVER = 2**62
#: The fields of a listed window: the versions of a secret after one of them.
WINDOW = {"secret_id": BigInteger, "after": BigInteger}

_NEVER = literal_column(str(NEVER), BigInteger)
_ZERO = literal_column("CAST(0 AS BIGINT)", BigInteger)
_STATE = ("at", "number", "is_candidate", "is_lookup", "version", "read", "given", "made")


def candidates(dialect_name: str) -> Subquery:
    """The first `most` candidates of the listed windows: `secret_id`, `version`, and their `number`.

    The recursion is drawn above. It ends after the last window, whose next has no secret to be joined.
    """
    one, on = _secret(dialect_name, _listed(dialect_name, "secret_id", _ZERO))
    after = _listed(dialect_name, "after", _ZERO)
    initial = zip(_STATE, (_ZERO, _ZERO, _ZERO, _ZERO, after, _ZERO, _ZERO, _ZERO), strict=True)
    first = select(one.c.id.label("secret_id"), one.c.version.label("newest"))
    first = first.add_columns(*(value.label(name) for name, value in initial)).select_from(one).where(on)
    chain = first.cte("chain", recursive=True, nesting=True)
    last = chain.c
    is_over = and_(last.is_lookup == 0, last.version >= last.newest)
    at = case((is_over, last.at + 1), else_=last.at)
    one, on = _secret(
        dialect_name, case((is_over, _listed(dialect_name, "secret_id", at)), else_=last.secret_id)
    )
    following = select(one.c.id, one.c.version, at, *_following(dialect_name, last, one.c, is_over, at))
    following = following.select_from(chain.join(one, on))
    following = following.where(last.number < bindparam("most", type_=BigInteger))
    rows = chain.union_all(following).c
    numbered = select(rows.secret_id, rows.version, rows.number).where(rows.is_candidate == 1)
    return numbered.subquery("candidate")


def _following(
    dialect_name: str, last: Columns, one: Columns, is_over: Expression, at: Expression
) -> list[Expression]:
    """The row after `last`, by the columns of `_STATE`: a start, a lookup or a candidate."""
    is_lookup = last.is_lookup == 1
    version = _least(dialect_name, _in_force(last), last.given, last.made, one.version)
    given = _least(dialect_name, *(_given(row, last, one) for row in (audit_record, audit_key)))
    read = _least(dialect_name, *(_read(key, last, one) for key in (FULL_EXPORT, PAST_EXPORT, FULL_COPY)))
    return [
        case((is_lookup, last.number + 1), else_=last.number),
        last.is_lookup,
        case((is_over, _ZERO), else_=1 - last.is_lookup),
        case((is_over, _listed(dialect_name, "after", at)), (is_lookup, version), else_=last.version),
        case((or_(is_over, is_lookup), _ZERO), else_=read),
        case((or_(is_over, is_lookup), _ZERO), else_=given),
        case((is_over, _ZERO), (or_(is_lookup, last.made > last.version), last.made), else_=_made(last)),
    ]


def _secret(dialect_name: str, secret_id: Expression) -> tuple[FromClause, Expression]:
    """What to join for a secret, and on what; PostgreSQL might read all secrets at each step."""
    if dialect_name == "sqlite":
        return secret, secret.c.id == secret_id
    found = select(secret).where(secret.c.id == secret_id).offset(literal_column("0"))
    return found.lateral("one"), true()


def _listed(dialect_name: str, name: str, at: Expression) -> Expression:
    """A field of the window at an index, counted from 0; NULL after the last window."""
    if dialect_name == "sqlite":
        path = func.printf(f"$[%d][{[*WINDOW].index(name)}]", at)
        return func.json_extract(bindparam("listed", type_=JSON), path, type_=BigInteger)
    # PostgreSQL reads an array that is selected once for the statement, not at each step.
    array = select(cast(bindparam(name, type_=Text), ARRAY(BigInteger))).scalar_subquery()
    found: Expression = array[cast(at + 1, Integer)]
    return found


def _given(row: Table, last: Columns, one: Columns) -> Expression:
    """The next version that a reveal or a copy of the key gave."""
    return _next(row, one, row.c.key == one.key, row.c.given > last.version)


def _read(key: str, last: Columns, one: Columns) -> Expression:
    """The next revision of which all was read or copied, from that of the next version on."""
    later = secret_version.alias("later")
    since = select(later.c.rev).where(later.c.secret_id == last.secret_id, later.c.version > last.version)
    since = since.order_by(later.c.version).limit(1).correlate_except(later)
    return _next(
        audit_record, one, audit_record.c.key == key, audit_record.c.given >= since.scalar_subquery()
    )


def _next(row: Table, one: Columns, *conditions: Expression) -> Expression:
    found = select(func.min(row.c.given)).where(
        row.c.identity_id == bindparam("identity_id", type_=Id),
        row.c.environment_id == one.environment_id,
        *conditions,
    )
    return found.correlate_except(row).scalar_subquery()


def _in_force(last: Columns) -> Expression:
    """The version that was in force at the revision that was read."""
    own = secret_version.alias("own")
    found = select(own.c.version).where(own.c.secret_id == last.secret_id, own.c.rev <= last.read)
    found = found.order_by(own.c.rev.desc(), own.c.version.desc()).limit(1)
    return found.correlate_except(own).scalar_subquery()


def _made(last: Columns) -> Expression:
    """The next version that the identity wrote or that was made from another; reads those in between."""
    made = secret_version.alias("made")
    is_made = or_(
        made.c.created_by == bindparam("identity_id", type_=Id), made.c.origin_secret_id.is_not(None)
    )
    found = select(made.c.version).where(
        made.c.secret_id == last.secret_id, made.c.version > last.version, is_made
    )
    found = found.order_by(made.c.version).limit(1).correlate_except(made)
    return func.coalesce(found.scalar_subquery(), _NEVER)


def _least(dialect_name: str, *values: Expression) -> Expression:
    """The least of some numbers; NULL stands for `NEVER`."""
    least = func.min if dialect_name == "sqlite" else func.least
    return least(*(func.coalesce(one, _NEVER) for one in values), type_=BigInteger)
