"""Values by their versions: those that a copy keeps, and what is kept of those that are only compared.

Short envelopes came with the contents. A version never changes, so that long ones may be read after these:
whatever is written meanwhile, the values are those of one revision, and where they are read nothing needs to
be locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from secrets import token_bytes
from sys import getsizeof
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, FromClause, and_, select

from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.row_parameters import rows_parameters, rows_table
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.crypto import Open
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.kernel.use_case import Call
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.queries.contents import Entry, EnvironmentContents
from secretsvc.secrets.queries.inline_envelopes import SHORT
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.origins import ORIGIN, origin_of
from secretsvc.secrets.queries.plan import ValueOrigin
from secretsvc.secrets.queries.rows import lateral_versions, length_of, read_all

_EMPTY = getsizeof("")


class Differing(NamedTuple):
    """Values by key, and the origin of each."""

    values: dict[str, str]
    origins: dict[str, ValueOrigin]


class ValueDigests:
    """Tells equal values by marks of 32 bytes, which mean nothing to whoever lacks this object's key."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def read(self, call: Call, environment_id: UUID, wanted: Collection[Entry]) -> dict[str, bytes | None]:
        """The marks of values by their keys, None of what cannot be opened.

        Each value is dropped before the next is read, so that nothing needs to be admitted.
        """
        open_one = call.ring.within(environment_id).open
        found: dict[str, bytes | None] = dict.fromkeys(one.key for one in wanted)
        by_id = {one.id: one for one in wanted}
        with _envelopes(call, wanted) as rows:
            for secret_id, envelope, kid in rows:
                entry = by_id[secret_id]
                with suppress(DecryptFailed, UnknownKid):
                    found[entry.key] = self.of(open_one(envelope, kid, entry.key, entry.version))
        return found

    def of(self, plaintext: bytes) -> bytes:
        """The mark of a value."""
        return blake2b(plaintext, key=self._key, digest_size=32).digest()


def open_differing(
    call: Call,
    taken: EnvironmentContents,
    environment_id: UUID,
    present: Mapping[str, KeyRow],
    left_alone: Collection[str],
) -> Differing:
    """Opens all of `taken`; finds the values, admitted before, that an environment lacks or has another of.

    `present` is what it has; what is `left_alone` is not compared. What cannot be opened there is another
    value. Raises `DecryptFailed`, `UnknownKid` for any of `taken`, and `Unavailable`.
    """
    found = values, origins = Differing({}, {})
    entries = taken.entries.values()
    if not entries:
        return found
    open_one, own = call.ring.within(taken.id).open, call.ring.within(environment_id).open
    admitted = sum(one.size for one in entries if one.key not in left_alone)
    call.admit(admitted)
    count, size = 0, 0
    with _pairs(call, entries, {key: present[key] for key in present.keys() - left_alone}) as rows:
        for one, envelope, kid, own_envelope, own_kid, origin in rows:
            key, version = one.key, one.version
            plaintext = open_one(envelope, kid, key, version)
            count += 1
            if key in left_alone:
                continue
            if own_envelope and _holds(own, own_envelope, own_kid, present[key], plaintext):
                continue
            value = values[key] = plaintext.decode("utf-8")
            origins[key] = origin_of(taken.id, one.id, version, origin)
            # One character beyond Latin-1 makes Python keep two or four bytes for each.
            size += len(value) if value.isascii() else getsizeof(value) - _EMPTY
            if size > admitted:
                call.admit(size - admitted)
                admitted = size
    if count < len(entries):
        raise DecryptFailed()
    return found


def _holds(open_one: Open, envelope: bytes, kid: str, own: KeyRow, plaintext: bytes) -> bool:
    try:
        return open_one(envelope, kid, own.key, own.version) == plaintext
    except (DecryptFailed, UnknownKid):
        return False


@contextmanager
def _envelopes(call: Call, wanted: Collection[Entry]) -> Iterator[Iterator[Sequence[Any]]]:
    """The versions that are there: the secret's id, envelope and kid.

    They come in any order. As with `current_secrets` nothing may be executed meanwhile.
    """
    near = ((one.id, one.envelope, one.kid) for one in wanted if one.size <= SHORT)
    far = [one for one in wanted if one.size > SHORT]
    if not far:
        yield near
        return
    numbers = [(one.id, one.version) for one in far]
    with load_large_envelopes(call, numbers, sum(one.size for one in far)) as rows:
        yield chain(near, rows)


def load_large_envelopes(
    call: Call, numbers: Sequence[tuple[int, int]], size: int
) -> AbstractContextManager[Iterator[Sequence[Any]]]:
    """Of versions, by the secret's id and their number, those that are there: that id, envelope and kid.

    They are `size` bytes in all, and come in any order. As with `current_secrets` nothing may be executed
    before the context ends.
    """
    parameters = rows_parameters(call.connection.dialect.name, numbers, *_WANTED)
    return read_all(call, _ENVELOPES, parameters, size)


@contextmanager
def _pairs(
    call: Call, wanted: Collection[Entry], present: Mapping[str, KeyRow]
) -> Iterator[Iterator[Sequence[Any]]]:
    """The entry of each version that is there, its envelope and kid, those `present` there, and its origin.

    Those present are None where there is none of that length: equal values have envelopes of one length, so
    that others that are long are not even read. As with `current_secrets` nothing may be executed meanwhile.
    """
    near = [_near(one, present.get(one.key)) for one in wanted if one.size <= SHORT]
    far = {one.id: one for one in wanted if one.size > SHORT}
    if not far:
        yield iter(near)
        return
    beside = [(one, present.get(one.key)) for one in far.values()]
    numbers = [(one.id, one.version, own and own.id, own and own.version) for one, own in beside]
    size = sum(one.size if own is None else 2 * one.size for one, own in beside)
    with read_all(
        call, _PAIRS, rows_parameters(call.connection.dialect.name, numbers, *_BESIDE), size
    ) as rows:
        yield chain(near, ((far[row[0]], *row[1:5], row[5:]) for row in rows))


def _near(one: Entry, own: KeyRow | None) -> Sequence[Any]:
    if own is None:
        return one, one.envelope, one.kid, None, None, one[-3:]
    return one, one.envelope, one.kid, own.envelope, own.kid, one[-3:]


def _is(version: FromClause, number: Sequence[ColumnElement[int]]) -> ColumnElement[bool]:
    """Whether it is the version of a secret's id and number."""
    return and_(version.c.secret_id == number[0], version.c.version == number[1])


def _each(dialect_name: str) -> Query:
    wanted, numbers = rows_table(dialect_name, **_WANTED)
    version, on = lateral_versions(dialect_name, _is(secret_version, numbers), wanted)
    columns = version.c.secret_id, version.c.envelope, version.c.kid
    return select(*columns).select_from(wanted).join(version, on)


def _each_pair(dialect_name: str) -> Query:
    wanted, numbers = rows_table(dialect_name, **_BESIDE)
    taken, on = lateral_versions(dialect_name, _is(secret_version, numbers[:2]), wanted)
    beside = secret_version.alias("own")
    lengths = [length_of(one.c.envelope, dialect_name) for one in (beside, taken)]
    is_own = and_(_is(beside, numbers[2:]), lengths[0] == lengths[1])
    own, on_own = lateral_versions(dialect_name, is_own, wanted, taken, version=beside)
    columns = taken.c.secret_id, taken.c.envelope, taken.c.kid
    own_columns = own.c.envelope.label("own_envelope"), own.c.kid.label("own_kid")
    origin = [taken.c[one.name] for one in ORIGIN]
    found = select(*columns, *own_columns, *origin).select_from(wanted)
    return found.join(taken, on).outerjoin(own, on_own)


_WANTED = {"secret_id": BigInteger, "version": BigInteger}
_BESIDE = {**_WANTED, "own_id": BigInteger, "own_version": BigInteger}
_ENVELOPES = PerDialect(lambda name: Prepared(_each(name)))
_PAIRS = PerDialect(lambda name: Prepared(_each_pair(name)))
