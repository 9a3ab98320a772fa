"""One key over time: who wrote each version and why, and which of its versions hold the same value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import and_, bindparam, case, or_, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.types import Expression, FoundRow
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.crypto import EnvironmentCipher
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import DecryptFailed, NotFound, UnknownKid
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.secrets.queries.comparison import DIFFERS, SAME, UNREADABLE
from secretsvc.secrets.queries.origins import ORIGIN
from secretsvc.secrets.queries.rows import (
    VERSION_NOT_FOUND,
    FoundSecret,
    SealedValue,
    find_secret,
    problem_with,
)
from secretsvc.tables.identities import identity

#: So many versions stand on one page.
SHOWN = 50


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """A version with what is known of the write that made it, in epoch milliseconds; a tombstone has no kid.

    `action` and `reason` are the revision's. `back_to` is the older version of this key that has the value,
    `copied_from` the environment that a copy took it from, `other_key` the other one of a renaming.
    """

    version: int
    kid: str | None
    created_at: int
    name: str
    action: str | None
    reason: str | None
    back_to: int | None
    copied_from: UUID | None
    other_key: str | None

    @property
    def deleted(self) -> bool:
        """Whether it is a tombstone."""
        return self.kid is None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions beside each other, without their values; `kind` is `same`, `differs` or `unreadable`.

    `equal` are versions known to hold one value, each group ascending, of which one is of the two.
    """

    left: VersionEntry
    right: VersionEntry
    kind: str
    equal: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """A key with its versions, newest first; `error` says why its current value cannot be read, if so.

    `rev` and `protected` are the environment's, read before them. `version` is the newest, be it a
    tombstone; `versions` are some of them, `older` tells whether there are others before. `sealed` is the
    current one as it is stored.
    """

    key: str
    project_id: UUID
    environment_id: UUID
    rev: int
    protected: bool
    description: str | None
    version: int
    deleted: bool
    error: str | None
    created_at: int | None
    versions: list[VersionEntry]
    pair: Pair | None
    sealed: SealedValue

    @property
    def current(self) -> VersionEntry | None:
        """The newest version, None where the page shows only older ones."""
        return next((one for one in self.versions if one.version == self.version), None)

    @property
    def last(self) -> int:
        """The newest version that has a value: a tombstone follows on one."""
        return self.version - 1 if self.deleted else self.version

    @property
    def older(self) -> int | None:
        """Where the versions before those go on."""
        oldest = self.versions[-1].version if self.versions else 1
        return oldest if oldest > 1 else None


def key_history(
    call: UseCaseContext,
    at: ScopePath,
    key: str,
    *,
    left: int | None = None,
    right: int | None = None,
    before: int | None = None,
) -> KeyHistory:
    """A key, deleted or not, with its versions (those older than `before`); two statements.

    `left` and `right` are compared, unless told otherwise the two newest that have a value. Raises
    `NotFound`, also for a version that is not there or a tombstone.
    """
    assert_can(call, Role.READER, at)
    row = find_secret(call, at, key)
    sealed = SealedValue(row.id, key, row.version, row.envelope, row.kid)
    error = None if row.deleted else problem_with(call, sealed)
    top = row.version + 1 if before is None else before
    rows = _rows(call, row, top, left, right)
    told = {one.version: _told(row, one) for one in rows}
    shown = [one for number, one in told.items() if top - SHOWN <= number < top]
    return KeyHistory(
        key,
        row.project_id,
        row.id,
        row.rev,
        row.protected,
        None if row.deleted else row.description,
        row.version,
        row.deleted,
        error,
        told[1].created_at if 1 in told else None,
        shown,
        _pair(call, key, row, rows, left, right),
        sealed,
    )


def _rows(
    call: UseCaseContext, of: FoundSecret, top: int, left: int | None, right: int | None
) -> Sequence[FoundRow]:
    parameters = {
        "environment_id": of.id,
        "secret_id": of.secret_id,
        "top": top,
        "bottom": top - SHOWN,
        "left": left or 0,
        "right": right or 0,
        # A tombstone is never followed by another.
        "newest": of.version - 4 if left is None or right is None else of.version,
    }
    return call.connection.execute(_VERSIONS, parameters).all()


def _told(of: FoundSecret, row: FoundRow) -> VersionEntry:
    is_own = (row.origin_environment_id, row.origin_secret_id) == (of.id, of.secret_id)
    back_to = row.origin_version if is_own else None
    return VersionEntry(
        row.version,
        row.kid,
        row.created_at,
        full_name(row.display_name, row.subject),
        row.action,
        row.reason,
        back_to,
        row.copied_from,
        row.other_key,
    )


def _pair(
    call: UseCaseContext,
    key: str,
    of: FoundSecret,
    rows: Sequence[FoundRow],
    left: int | None,
    right: int | None,
) -> Pair | None:
    chosen = {row.version: row for row in rows if row.kid is not None}
    if any(one is not None and one not in chosen for one in (left, right)):
        raise NotFound(VERSION_NOT_FOUND)
    # Newest first.
    right = right or next((one for one in chosen if one != left), None)
    left = left or next((one for one in chosen if one != right), None)
    if left is None or right is None:
        return None
    both = [chosen[one] for one in sorted((left, right))]
    cipher = call.ring.within(of.id)
    values = [_opened(cipher, key, one) for one in both]
    kind = UNREADABLE if None in values else SAME if values[0] == values[1] else DIFFERS
    equal = [group for group in _equal(of, chosen) if {left, right} & {*group}]
    return Pair(_told(of, both[0]), _told(of, both[1]), kind, equal)


def _equal(of: FoundSecret, rows: Mapping[int, FoundRow]) -> list[list[int]]:
    """Versions that hold one value because they were made from one, as far as these rows tell."""
    groups = defaultdict(list)
    for number in sorted(rows):
        row = rows[number]
        own = of.id, of.secret_id, number
        origin = row.origin_environment_id, row.origin_secret_id, row.origin_version
        groups[own if row.origin_secret_id is None else origin].append(number)
    return [group for group in groups.values() if len(group) > 1]


def _opened(cipher: EnvironmentCipher, key: str, row: FoundRow) -> bytes | None:
    try:
        return cipher.open(row.envelope, row.kid, key, row.version)
    except (DecryptFailed, UnknownKid):
        return None


def _other_key() -> Expression:
    """The other key of the same renaming."""
    other, version = secret.alias("other"), secret_version.alias("of_other")
    found = (
        select(other.c.key)
        .join_from(
            other, version, and_(version.c.secret_id == other.c.id, version.c.rev == secret_version.c.rev)
        )
        .where(
            other.c.environment_id == bindparam("environment_id"), other.c.id != secret_version.c.secret_id
        )
        .limit(1)
        .correlate(secret_version)
        .scalar_subquery()
    )
    return case((revision.c.action == "secret.rename", found)).label("other_key")


_IS_CHOSEN = or_(
    secret_version.c.version.in_([bindparam("left"), bindparam("right")]),
    secret_version.c.version > bindparam("newest"),
)
_IS_SHOWN = and_(secret_version.c.version >= bindparam("bottom"), secret_version.c.version < bindparam("top"))
_OF_REVISION = and_(
    revision.c.environment_id == bindparam("environment_id"), revision.c.rev == secret_version.c.rev
)
# Envelopes only of those that are compared: there may be many versions.
_VERSIONS = (
    select(
        secret_version.c.version,
        secret_version.c.kid,
        secret_version.c.created_at,
        *ORIGIN,
        case((_IS_CHOSEN, secret_version.c.envelope)).label("envelope"),
        revision.c.action,
        revision.c.reason,
        revision.c.copied_from,
        identity.c.subject,
        identity.c.display_name,
        _other_key(),
    )
    .outerjoin_from(secret_version, revision, _OF_REVISION)
    .outerjoin(identity, identity.c.id == secret_version.c.created_by)
    .where(
        secret_version.c.secret_id == bindparam("secret_id"),
        or_(_IS_SHOWN, _IS_CHOSEN, secret_version.c.version == 1),
    )
    .order_by(secret_version.c.version.desc())
)
