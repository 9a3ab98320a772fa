"""Opens the values of an environment: to keep them, to compare them, or to know that they can be opened."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from operator import attrgetter
from secrets import token_bytes
from sys import getsizeof
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, and_, select

from secretsvc.authorization.rules.checks import ENVIRONMENT_NOT_FOUND
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.row_parameters import rows_parameters, rows_table
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.errors import DecryptFailed, NotFound, UnknownKid
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.queries.contents import INLINE_BYTES, Entry, EnvironmentContents, ListedRow, Row
from secretsvc.secrets.queries.origins import origin_of
from secretsvc.secrets.queries.plan import ValueOrigin
from secretsvc.secrets.queries.rows import SecretListItem, lateral_versions

_EMPTY = getsizeof("")


class Differing(NamedTuple):
    """Values by key, and the origin of each."""

    values: dict[str, str]
    origins: dict[str, ValueOrigin]


class AdmittedValues:
    """Values that are kept in memory, by key; `size` bytes are admitted before the first is opened.

    Raises `Unavailable`.
    """

    def __init__(self, call: UseCaseContext, size: int) -> None:
        call.admit(size)
        self._call, self._admitted, self._kept = call, size, 0
        self.by_key: dict[str, str] = {}

    def add(self, key: str, plaintext: bytes) -> None:
        """Keep a value. What Python needs for it beyond its size is admitted, too. Raises `Unavailable`."""
        value = plaintext.decode()
        # One character beyond Latin-1 makes Python keep two or four bytes for each.
        self._kept += len(value) if value.isascii() else getsizeof(value) - _EMPTY
        if self._kept > self._admitted:
            self._call.admit(self._kept - self._admitted)
            self._admitted = self._kept
        self.by_key[key] = value


class ValueDigests:
    """Tells equal values by digests of 32 bytes, which mean nothing without this object's key."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def read(
        self, call: UseCaseContext, environment_id: UUID, rows: Collection[Row]
    ) -> dict[str, bytes | None]:
        """The digests of values by key, None of a value that cannot be opened.

        Each value is dropped before the next is opened, so that nothing needs to be admitted.
        """
        open_one = call.ring.within(environment_id).open
        found: dict[str, bytes | None] = dict.fromkeys(row.key for row in rows)
        with with_envelopes(call, rows) as sealed:
            for row, envelope, kid in sealed:
                with suppress(DecryptFailed, UnknownKid):
                    found[row.key] = self.of(open_one(envelope, kid, row.key, row.version))
        return found

    def of(self, plaintext: bytes) -> bytes:
        """The digest of a value."""
        return blake2b(plaintext, key=self._key, digest_size=32).digest()


@contextmanager
def with_envelopes(
    call: UseCaseContext, rows: Collection[Row]
) -> Iterator[Iterator[tuple[Row, bytes | None, str | None]]]:
    """Each row with its envelope and kid, large envelopes last, of which a few are in memory at once.

    Nothing may be executed before the context ends. Raises `NotFound` where a version is gone: without a
    transaction its environment may have been deleted since the row was read.
    """
    inline = ((row, row.envelope, row.kid) for row in rows if row.size <= INLINE_BYTES)
    large = {row.secret_id: row for row in rows if row.size > INLINE_BYTES}
    if not large:
        yield inline
        return
    dialect_name = call.connection.dialect.name
    versions = [(row.secret_id, row.version) for row in large.values()]
    parameters = rows_parameters(dialect_name, versions, *_VERSION)
    with _ENVELOPES[dialect_name].streamed(call.connection, parameters) as found:
        yield chain(inline, ((large.pop(secret_id), envelope, kid) for secret_id, envelope, kid in found))
    if large:
        raise NotFound(ENVIRONMENT_NOT_FOUND)


def list_items(call: UseCaseContext, found: EnvironmentContents[ListedRow]) -> list[SecretListItem]:
    """The secrets as clients see them, sorted; each is opened to know that it can be."""
    open_one = call.ring.within(found.id).open
    items = []
    with with_envelopes(call, found.entries.values()) as sealed:
        for row, envelope, kid in sealed:
            error = None
            try:
                open_one(envelope, kid, row.key, row.version)
            except (DecryptFailed, UnknownKid) as problem:
                error = problem.code
            items.append(
                SecretListItem(
                    row.key,
                    row.version,
                    row.description,
                    kid,
                    row.created_at,
                    row.updated_at,
                    error is None,
                    error,
                )
            )
    return sorted(items, key=attrgetter("key"))


def decrypt_all(
    call: UseCaseContext, found: EnvironmentContents[Row], *, lenient: bool = False
) -> dict[str, str]:
    """Every value by key, sorted, admitted until the answer has left. No other use case may hold so many.

    What cannot be opened is left out if `lenient`. Raises `NotFound`, `ServerMisconfigured`, `Unavailable`,
    `DecryptFailed`, `UnknownKid`.
    """
    rows = found.entries.values()
    values = AdmittedValues(call, sum(row.size for row in rows))
    open_one = call.ring.within(found.id).open
    with with_envelopes(call, rows) as sealed:
        for row, envelope, kid in sealed:
            try:
                plaintext = open_one(envelope, kid, row.key, row.version)
            except (DecryptFailed, UnknownKid):
                if lenient:
                    continue
                raise
            values.add(row.key, plaintext)
    return {key: values.by_key[key] for key in found.entries if key in values.by_key}


def open_differing(
    call: UseCaseContext,
    taken: EnvironmentContents[Entry],
    environment_id: UUID,
    present: Mapping[str, Entry],
    left_alone: Collection[str],
) -> Differing:
    """Opens all of `taken`; keeps the values that an environment lacks or has another of.

    `present` is what the environment has; what is `left_alone` is not compared. A value that cannot be opened
    there is another value, and so is one whose envelope has another length, which is not read. Raises
    `DecryptFailed`, `UnknownKid` for any of `taken`, `NotFound`, and `Unavailable`.
    """
    if not taken.entries:
        return Differing({}, {})
    compared = {key: one for key, one in taken.entries.items() if key not in left_alone}
    values = AdmittedValues(call, sum(one.size for one in compared.values()))
    origins: dict[str, ValueOrigin] = {}
    may_equal = [
        present[key] for key, one in compared.items() if key in present and present[key].size == one.size
    ]
    digests = ValueDigests()
    own = digests.read(call, environment_id, may_equal)
    open_one = call.ring.within(taken.id).open
    with with_envelopes(call, taken.entries.values()) as sealed:
        for one, envelope, kid in sealed:
            plaintext = open_one(envelope, kid, one.key, one.version)
            if one.key in compared and own.get(one.key) != digests.of(plaintext):
                values.add(one.key, plaintext)
                origins[one.key] = origin_of(taken.id, one.secret_id, one.version, one)
    return Differing(values.by_key, origins)


def _envelopes(dialect_name: str) -> Query:
    wanted, (secret_id, number) = rows_table(dialect_name, **_VERSION)
    is_wanted = and_(secret_version.c.secret_id == secret_id, secret_version.c.version == number)
    version, on = lateral_versions(dialect_name, is_wanted, wanted)
    return (
        select(version.c.secret_id, version.c.envelope, version.c.kid).select_from(wanted).join(version, on)
    )


_VERSION = {"secret_id": BigInteger, "version": BigInteger}
_ENVELOPES = PerDialect(lambda name: Prepared(_envelopes(name)))
