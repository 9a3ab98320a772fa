"""Values by their versions: those that a copy keeps, and what is kept of those that are only compared.

A version never changes, so that envelopes may be read after the contents that named them: whatever is written
meanwhile, the values are those of one revision, and where they are read nothing needs to be locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from secrets import token_bytes
from sys import getsizeof
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects import postgresql

from secretsvc.db.prepared import Prepared
from secretsvc.db.statements import DIALECTS
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.rules.contents import Entry
from secretsvc.secrets.rules.rows import length_of, read_all

_EMPTY = getsizeof("")


class Like(NamedTuple):
    """A version of a key that may have the value of another, whose envelope is `size` bytes."""

    id: int
    key: str
    version: int
    size: int


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
        by_place = {(one.id, one.version): one for one in wanted}
        with _envelopes(call, wanted) as rows:
            for secret_id, version, envelope, kid in rows:
                key = by_place[secret_id, version].key
                with suppress(DecryptFailed, UnknownKid):
                    plaintext = cipher.open(envelope, kid, key, version)
                    found[key] = blake2b(plaintext, key=self._key, digest_size=32).digest()
        return found


def open_kept(
    call: Call, environment_id: UUID, wanted: Collection[Entry], left_alone: Collection[str]
) -> dict[str, str]:
    """Opens all that are wanted; the values, by key, that are not `left_alone`, and are admitted before.

    Raises `DecryptFailed`, `UnknownKid` for any of them, and `Unavailable`.
    """
    cipher = call.ring.within(environment_id)
    admitted = sum(one.size for one in wanted if one.key not in left_alone)
    call.admit(admitted)
    count, size = 0, 0
    values: dict[str, str] = {}
    by_place = {(one.id, one.version): one for one in wanted}
    with _envelopes(call, wanted) as rows:
        for secret_id, version, envelope, kid in rows:
            key = by_place[secret_id, version].key
            value = cipher.open(envelope, kid, key, version).decode("utf-8")
            count += 1
            if key in left_alone:
                continue
            # One character beyond Latin-1 makes Python keep two or four bytes for each.
            size += getsizeof(value) - _EMPTY
            if size > admitted:
                call.admit(size - admitted)
                admitted = size
            values[key] = value
    if count < len(wanted):
        raise DecryptFailed()
    return values


def drop_equal(call: Call, environment_id: UUID, there: Collection[Like], values: dict[str, str]) -> None:
    """Takes from `values` those that the environment has already; what cannot be opened there is another.

    Equal values have envelopes of one length, so that those of another length are not even read.
    """
    cipher = call.ring.within(environment_id)
    by_place = {(one.id, one.version): one for one in there}
    with _envelopes(call, there, of_size=True) as rows:
        for secret_id, version, envelope, kid in rows:
            key = by_place[secret_id, version].key
            with suppress(DecryptFailed, UnknownKid):
                if cipher.open(envelope, kid, key, version).decode("utf-8") == values[key]:
                    del values[key]


def _envelopes(
    call: Call, wanted: Collection[Entry | Like], *, of_size: bool = False
) -> AbstractContextManager[Iterator[Sequence[Any]]]:
    """The versions that are there: the secret's id, the number, envelope and kid; `of_size` if it is as said.

    They come in any order. As with `secrets_inside` nothing may be executed meanwhile.
    """
    ids, versions, sizes = ([getattr(one, name) for one in wanted] for name in ("id", "version", "size"))
    if call.connection.dialect.name == "sqlite":
        parameters = {"wanted": [*zip(ids, versions, sizes, strict=True)]}
    else:
        parameters = {"ids": ids, "versions": versions, "sizes": sizes}
    return read_all(call, _OF_SIZE if of_size else _ENVELOPES, parameters, sum(sizes))


def _wanted(dialect_name: str) -> tuple[FromClause, Sequence[ColumnElement[int]]]:
    """A table of the parameters, and its columns: of triples in JSON on SQLite, of arrays on PostgreSQL."""
    if dialect_name == "sqlite":
        triples = func.json_each(bindparam("wanted", type_=JSON)).table_valued("value")
        return triples, [func.json_extract(triples.c.value, f"$[{at}]", type_=BigInteger) for at in range(3)]
    names = ("ids", "versions", "sizes")
    arrays = [bindparam(name, type_=postgresql.ARRAY(BigInteger)) for name in names]
    made = func.unnest(*arrays).table_valued(*(column(name, BigInteger) for name in names))
    made = made.render_derived("wanted")
    return made, [made.c[name] for name in names]


def _each(dialect_name: str, *, of_size: bool) -> Select[Any]:
    wanted, (secret_id, number, size) = _wanted(dialect_name)
    conditions = [secret_version.c.secret_id == secret_id, secret_version.c.version == number]
    if of_size:
        conditions.append(length_of(secret_version.c.envelope, dialect_name) == size)
    version: FromClause = secret_version
    on: ColumnElement[bool] = and_(*conditions)
    if dialect_name != "sqlite":
        # As `versions_beside` has it: PostgreSQL might read all histories instead of looking these up.
        found = select(secret_version).where(on).correlate(wanted).offset(literal_column("0"))
        version, on = found.lateral("found"), true()
    columns = version.c.secret_id, version.c.version, version.c.envelope, version.c.kid
    return select(*columns).select_from(wanted).join(version, on)


_ENVELOPES = {name: Prepared(_each(name, of_size=False)) for name in DIALECTS}
_OF_SIZE = {name: Prepared(_each(name, of_size=True)) for name in DIALECTS}
