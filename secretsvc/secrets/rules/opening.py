"""Values by their versions: what a copy keeps of them, and what is kept of those that are only compared.

A version never changes, so that envelopes may be read after the contents that named them: whatever is written
meanwhile, the values are those of one revision, and where they are read nothing needs to be locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from secrets import token_bytes
from sys import getsizeof
from typing import Any, Protocol, TypeVar
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
from secretsvc.secrets.rules.rows import AT_ONCE, read_all

_EMPTY = getsizeof("")


class Versioned(Protocol):
    """A key at one version; `id` is the secret's."""

    @property
    def id(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def version(self) -> int: ...


AnyVersioned = TypeVar("AnyVersioned", bound=Versioned)


class Marks:
    """Tells equal values by marks of 32 bytes, which mean nothing to whoever lacks this object's key."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def of(self, value: bytes) -> bytes:
        """The mark of a value."""
        return blake2b(value, key=self._key, digest_size=32).digest()

    def read(
        self, call: Call, environment_id: UUID, wanted: Collection[Versioned]
    ) -> dict[str, bytes | None]:
        """The marks of values by their keys, None of what cannot be opened.

        Each value is dropped before the next is read, so that nothing needs to be admitted.
        """
        inside = call.ring.within(environment_id)
        found: dict[str, bytes | None] = dict.fromkeys(one.key for one in wanted)
        with _envelopes(call, wanted) as rows:
            for one, envelope, kid in rows:
                with suppress(DecryptFailed, UnknownKid):
                    found[one.key] = self.of(inside.open(envelope, kid, one.key, one.version))
        return found


def open_differing(
    call: Call,
    environment_id: UUID,
    wanted: Collection[Entry],
    settled: Collection[str],
    marks: Marks,
    there: Mapping[str, bytes | None],
) -> dict[str, str]:
    """Opens all that are wanted; those values by their keys that are not `settled` and differ from `there`.

    Those that may have to be kept are admitted before. Raises `DecryptFailed`, `UnknownKid` for any of them,
    and `Unavailable`.
    """
    inside = call.ring.within(environment_id)
    admitted = sum(one.size for one in wanted if one.key not in settled)
    call.admit(admitted)
    missing, size = {one.key for one in wanted}, 0
    values: dict[str, str] = {}
    with _envelopes(call, wanted, sum(one.size for one in wanted)) as rows:
        for one, envelope, kid in rows:
            plaintext = inside.open(envelope, kid, one.key, one.version)
            missing.discard(one.key)
            if one.key in settled or there.get(one.key) == marks.of(plaintext):
                continue
            values[one.key] = value = plaintext.decode("utf-8")
            # One character beyond Latin-1 makes Python keep two or four bytes for each.
            size += getsizeof(value) - _EMPTY
            if size > admitted:
                call.admit(size - admitted)
                admitted = size
    if missing:
        raise DecryptFailed()
    return values


@contextmanager
def _envelopes(
    call: Call, wanted: Collection[AnyVersioned], size: int = AT_ONCE + 1
) -> Iterator[Iterator[tuple[AnyVersioned, bytes | None, str | None]]]:
    """The versions that are there, with envelope and kid, in any order, a few in memory at once.

    As with `secrets_inside` nothing may be executed meanwhile. Where all are known to take little memory it
    takes less time.
    """
    by_place = {(one.id, one.version): one for one in wanted}
    if not by_place:
        yield iter(())
        return
    parameters = _asked(by_place, call.connection.dialect.name)
    with read_all(call, _ENVELOPES, parameters, size) as rows:
        yield ((by_place[row[0], row[1]], row[2], row[3]) for row in rows)


def _asked(places: Collection[tuple[int, int]], dialect_name: str) -> dict[str, Any]:
    if dialect_name == "sqlite":
        return {"places": [*places]}
    ids, versions = zip(*places, strict=True)
    return {"ids": [*ids], "versions": [*versions]}


def _asked_for(dialect_name: str) -> tuple[FromClause, ColumnElement[int], ColumnElement[int]]:
    """A table of the parameters: of pairs in JSON on SQLite, of two arrays on PostgreSQL."""
    if dialect_name == "sqlite":
        pairs = func.json_each(bindparam("places", type_=JSON)).table_valued("value")
        of_pair = [func.json_extract(pairs.c.value, f"$[{at}]", type_=BigInteger) for at in (0, 1)]
        return pairs, of_pair[0], of_pair[1]
    arrays = [bindparam(name, type_=postgresql.ARRAY(BigInteger)) for name in ("ids", "versions")]
    columns = column("secret_id", BigInteger), column("version", BigInteger)
    made = func.unnest(*arrays).table_valued(*columns).render_derived("asked")
    return made, made.c.secret_id, made.c.version


def _each(dialect_name: str) -> Select[Any]:
    asked, secret_id, number = _asked_for(dialect_name)
    condition = and_(secret_version.c.secret_id == secret_id, secret_version.c.version == number)
    version: FromClause = secret_version
    on: ColumnElement[bool] = condition
    if dialect_name != "sqlite":
        # As `versions_beside` has it: PostgreSQL might read all histories instead of looking these up.
        found = select(secret_version).where(condition).correlate(asked).offset(literal_column("0"))
        version, on = found.lateral("found"), true()
    columns = version.c.secret_id, version.c.version, version.c.envelope, version.c.kid
    return select(*columns).select_from(asked).join(version, on)


_ENVELOPES = {name: Prepared(_each(name)) for name in DIALECTS}
