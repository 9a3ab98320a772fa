"""Values by their versions: those that a copy keeps, and what is kept of those that are only compared.

A version never changes, so that envelopes may be read after the contents that named them: whatever is written
meanwhile, the values are those of one revision, and where they are read nothing needs to be locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from secrets import token_bytes
from sys import getsizeof
from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects import postgresql

from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import DIALECTS
from secretsvc.kernel.call import Call
from secretsvc.kernel.crypto import EnvironmentCipher
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.rules.contents import Contents, Entry
from secretsvc.secrets.rules.known import Known
from secretsvc.secrets.rules.rows import length_of, read_all

_EMPTY = getsizeof("")


class Marks:
    """Tells equal values by marks of 32 bytes, which mean nothing to whoever lacks this object's key."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def read(self, call: Call, environment_id: UUID, wanted: Collection[Entry]) -> dict[str, bytes | None]:
        """The marks of values by their keys, None of what cannot be opened.

        Each value is dropped before the next is read, so that nothing needs to be admitted.
        """
        cipher = call.ring.within(environment_id)
        found: dict[str, bytes | None] = dict.fromkeys(one.key for one in wanted)
        by_id = {one.id: one for one in wanted}
        with _envelopes(call, wanted) as rows:
            for secret_id, envelope, kid in rows:
                _, key, version, _, _ = by_id[secret_id]
                with suppress(DecryptFailed, UnknownKid):
                    plaintext = cipher.open(envelope, kid, key, version)
                    found[key] = blake2b(plaintext, key=self._key, digest_size=32).digest()
        return found


def open_differing(
    call: Call,
    taken: Contents,
    environment_id: UUID,
    present: Mapping[str, Known],
    left_alone: Collection[str],
) -> dict[str, str]:
    """Opens all of `taken`; the values by key, admitted before, that an environment lacks or has another of.

    `present` is what it has; what is `left_alone` is not compared. What cannot be opened there is another
    value. Raises `DecryptFailed`, `UnknownKid` for any of `taken`, and `Unavailable`.
    """
    cipher, own = call.ring.within(taken.id), call.ring.within(environment_id)
    entries = taken.entries.values()
    admitted = sum(one.size for one in entries if one.key not in left_alone)
    call.admit(admitted)
    count, size = 0, 0
    values: dict[str, str] = {}
    by_id = {one.id: one for one in entries}
    with _pairs(call, entries, {key: present[key] for key in present.keys() - left_alone}) as rows:
        for secret_id, envelope, kid, own_envelope, own_kid in rows:
            _, key, version, _, _ = by_id[secret_id]
            plaintext = cipher.open(envelope, kid, key, version)
            count += 1
            if key in left_alone:
                continue
            if own_envelope is not None and _holds(
                own, own_envelope, own_kid, key, present[key].version, plaintext
            ):
                continue
            value = values[key] = plaintext.decode("utf-8")
            # One character beyond Latin-1 makes Python keep two or four bytes for each.
            size += getsizeof(value) - _EMPTY
            if size > admitted:
                call.admit(size - admitted)
                admitted = size
    if count < len(entries):
        raise DecryptFailed()
    return values


def _holds(
    cipher: EnvironmentCipher, envelope: bytes, kid: str, key: str, version: int, plaintext: bytes
) -> bool:
    try:
        return cipher.open(envelope, kid, key, version) == plaintext
    except (DecryptFailed, UnknownKid):
        return False


def _envelopes(call: Call, wanted: Collection[Entry]) -> AbstractContextManager[Iterator[Sequence[Any]]]:
    """The versions that are there: the secret's id, envelope and kid.

    They come in any order. As with `secrets_inside` nothing may be executed meanwhile.
    """
    columns: list[Sequence[int | None]] = [[one.id for one in wanted], [one.version for one in wanted]]
    return read_all(call, _ENVELOPES, _parameters(call, columns), sum(one.size for one in wanted))


def _pairs(
    call: Call, wanted: Collection[Entry], present: Mapping[str, Known]
) -> AbstractContextManager[Iterator[Sequence[Any]]]:
    """As `_envelopes`, each with the envelope and kid of what is `present` under its key.

    These are None where there is none of that length: equal values have envelopes of one length, so that
    others are not even read.
    """
    beside = [present.get(one.key) for one in wanted]
    columns: list[Sequence[int | None]] = [
        [one.id for one in wanted],
        [one.version for one in wanted],
        [None if one is None else one.id for one in beside],
        [None if one is None else one.version for one in beside],
    ]
    size = sum(one.size if other is None else 2 * one.size for one, other in zip(wanted, beside, strict=True))
    return read_all(call, _PAIRS, _parameters(call, columns), size)


def _parameters(call: Call, columns: Sequence[Sequence[int | None]]) -> dict[str, object]:
    if call.connection.dialect.name == "sqlite":
        return {"wanted": [*zip(*columns, strict=True)]}
    # psycopg takes six times as long to write a list.
    return {name: _array(values) for name, values in zip(_NAMES, columns, strict=False)}


def _array(values: Sequence[int | None]) -> str:
    return f"{{{','.join(['NULL' if one is None else str(one) for one in values])}}}"


def _wanted(dialect_name: str, width: int) -> tuple[FromClause, Sequence[ColumnElement[int]]]:
    """A table of the parameters, and its columns: of rows in JSON on SQLite, of arrays on PostgreSQL."""
    if dialect_name == "sqlite":
        rows = func.json_each(bindparam("wanted", type_=JSON)).table_valued("value")
        return rows, [func.json_extract(rows.c.value, f"$[{at}]", type_=BigInteger) for at in range(width)]
    names = _NAMES[:width]
    arrays = [cast(bindparam(name, type_=Text), postgresql.ARRAY(BigInteger)) for name in names]
    made = func.unnest(*arrays).table_valued(*(column(name, BigInteger) for name in names))
    made = made.render_derived("wanted")
    return made, [made.c[name] for name in names]


def _looked_up(
    dialect_name: str,
    name: str,
    number: Sequence[ColumnElement[int]],
    *beside: FromClause,
    length: ColumnElement[int] | None = None,
) -> tuple[FromClause, ColumnElement[bool]]:
    """What to join for the version of a secret's id and number, perhaps only of a length, and on what.

    As `versions_beside` has it: PostgreSQL might read all histories instead of looking these up.
    """
    version = secret_version.alias(name)
    on = and_(version.c.secret_id == number[0], version.c.version == number[1])
    if length is not None:
        on = and_(on, length_of(version.c.envelope, dialect_name) == length)
    if dialect_name == "sqlite":
        return version, on
    found = select(version).where(on).correlate(*beside).offset(literal_column("0"))
    return found.lateral(f"found_{name}"), true()


def _each(dialect_name: str) -> Select[Any]:
    wanted, numbers = _wanted(dialect_name, 2)
    version, on = _looked_up(dialect_name, "taken", numbers, wanted)
    columns = version.c.secret_id, version.c.envelope, version.c.kid
    return select(*columns).select_from(wanted).join(version, on)


def _each_pair(dialect_name: str) -> Select[Any]:
    wanted, numbers = _wanted(dialect_name, 4)
    taken, on = _looked_up(dialect_name, "taken", numbers[:2], wanted)
    length = length_of(taken.c.envelope, dialect_name)
    own, on_own = _looked_up(dialect_name, "own", numbers[2:], wanted, taken, length=length)
    own_columns = own.c.envelope.label("own_envelope"), own.c.kid.label("own_kid")
    columns = taken.c.secret_id, taken.c.envelope, taken.c.kid, *own_columns
    return select(*columns).select_from(wanted).join(taken, on).outerjoin(own, on_own)


_NAMES = ("ids", "versions", "own_ids", "own_versions")
_ENVELOPES = {name: Prepared(_each(name)) for name in DIALECTS}
_PAIRS = {name: Prepared(_each_pair(name)) for name in DIALECTS}
