"""What an identity was given or wrote, page by page (contract 5.11)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from secretsvc.authorization.rules.checks import assert_admin_somewhere
from secretsvc.exposure.rules.exposed_environments import (
    CandidateEnvironment,
    candidate_environments,
    keys_of,
)
from secretsvc.exposure.rules.exposed_versions import (
    ExposedVersion,
    PastExports,
    VersionRange,
    candidates_in,
    latest,
    relatives_of,
)
from secretsvc.identity.rules import COLUMNS, IDENTITY_NOT_FOUND, IdentityRow
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.identifiers import SECRET_KEY_LENGTH, SLUG_LENGTH
from secretsvc.kernel.schema_annotations import Ordinal, SecretKey, Slug, Time, text
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.models import audit_pruned
from secretsvc.tables.identities import identity

#: One pass reads at most this many of each. A full page whose values are all shown takes one pass: the key
#: beyond the limit says whether another page follows.
ENVIRONMENTS, KEYS, VERSIONS = 20, 501, 1000
#: Instead of a key: after all of an environment.
END = "~"
#: Two slugs, a key and a number up to 2^53.
CURSOR_LENGTH = 2 * SLUG_LENGTH + SECRET_KEY_LENGTH + 16 + 3


@dataclass(frozen=True, slots=True)
class Exposed:
    """A value that an identity met, at one key, by the newest version there that is the value.

    `seen_at` is the last time, at whatever key it was, in epoch milliseconds.
    """

    project: Slug
    environment: Slug
    key: SecretKey
    version: Ordinal
    seen_at: Time
    current: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """A page of values, and the cursor of the next one; what is before `complete_since` may be missing."""

    identity: IdentityRow
    complete_since: Time | None
    items: list[Exposed]
    next_cursor: Annotated[str, text(0, CURSOR_LENGTH)] | None


class Position(NamedTuple):
    """After a version of a key; `END` is after all keys."""

    project: str
    environment: str
    key: str
    version: int


class Chosen(NamedTuple):
    """What one pass reads, in order, and where the next pass begins, None after the last.

    The windows are by their secrets, each with its environment and key.
    """

    windows: dict[int, tuple[CandidateEnvironment, str, VersionRange]]
    end: Position | None


def exposure_of(
    call: UseCaseContext, identity_id: UUID, limit: int, cursor: tuple[str, str, str, int] | None = None
) -> Exposure:
    """The values that an identity was given or wrote, at the environments that the caller administers.

    Sorted by project, environment, key and version, from after the cursor. A page is full unless it is the
    last one (contract 17.9): it takes as many passes as that needs, of at most five statements each.
    Raises `NotFound`.
    """
    assert_admin_somewhere(call)
    whose, complete_since = _found(call, identity_id)
    items: list[Exposed] = []
    start: Position | None = Position(*cursor) if cursor else Position("", "", "", 0)
    while start is not None and len(items) <= limit:
        chosen = _choose(call, identity_id, start)
        found, start = _exposed(call, identity_id, chosen)
        items += found
    if len(items) <= limit:
        return Exposure(whose, complete_since, items, None)
    last = items[limit - 1]
    end = Position(last.project, last.environment, last.key, last.version)
    return Exposure(whose, complete_since, items[:limit], "/".join(map(str, end)))


def _found(call: UseCaseContext, identity_id: UUID) -> tuple[IdentityRow, int | None]:
    """The identity, and since when the log is whole; one statement."""
    row = call.connection.execute(_BY_ID, {"identity_id": identity_id}).mappings().first()
    if row is None:
        raise NotFound(IDENTITY_NOT_FOUND)
    fields = dict(row)
    complete_since = fields.pop("complete_since")
    return IdentityRow(**fields), complete_since


def _choose(call: UseCaseContext, identity_id: UUID, start: Position) -> Chosen:
    environments = candidate_environments(
        call, identity_id, start[:2], ENVIRONMENTS + 1, inside=start.key != END
    )
    if not environments:
        return Chosen({}, None)
    at_start = (environments[0].project, environments[0].environment) == start[:2]
    keys = keys_of(call, identity_id, environments[:ENVIRONMENTS], start.key if at_start else "", KEYS + 2)
    end = (
        Position(*_slugs(environments[ENVIRONMENTS - 1]), END, 0)
        if len(environments) > ENVIRONMENTS
        else None
    )
    windows: dict[int, tuple[CandidateEnvironment, str, VersionRange]] = {}
    for number, one in enumerate(keys):
        after = start.version if at_start and one.at == 0 and one.key == start.key else 0
        if after >= one.version:
            continue
        if len(windows) == KEYS:
            # Of an environment keys beyond the next were not asked for.
            last = keys[number - 1]
            return Chosen(windows, Position(*_slugs(environments[last.at]), last.key, last.version))
        windows[one.id] = environments[one.at], one.key, VersionRange(one.id, after)
    return Chosen(windows, end)


def _slugs(within: CandidateEnvironment) -> tuple[str, str]:
    return within.project, within.environment


def _exposed(
    call: UseCaseContext, identity_id: UUID, chosen: Chosen
) -> tuple[list[Exposed], Position | None]:
    """The values among the windows, each at its newest version of a key, and where the next pass begins."""
    windows = [window for *_, window in chosen.windows.values()]
    candidates, last = candidates_in(call, identity_id, windows, VERSIONS)
    newest = [one for one in candidates if not one.repeated]
    relatives = relatives_of(call, identity_id, {one.origin for one in newest if one.related})
    same = [relatives[one.origin] if one.related else [one] for one in newest]
    environments = {one.environment_id for each in same for one in each}
    older = PastExports(call, identity_id, environments)
    items = []
    for one, each in zip(newest, same, strict=True):
        here = _seen_at(older, [other for other in each if other.of_key == one.of_key])
        seen_at = _seen_at(older, each)
        if seen_at is not None and (here is not None or one.is_current):
            within = chosen.windows[one.secret_id][0]
            items.append(Exposed(*_slugs(within), one.key, one.version, seen_at, one.is_current))
    items.sort(key=lambda item: (item.project, item.environment, item.key, item.version))
    return items, _after(chosen, *last) if last else chosen.end


def _after(chosen: Chosen, secret_id: int, version: int) -> Position:
    within, key, _ = chosen.windows[secret_id]
    return Position(*_slugs(within), key, version)


def _seen_at(older: PastExports, versions: Collection[ExposedVersion]) -> int | None:
    return latest(time for one in versions for time in (one.seen_at, older.gave_at(one)))


_SINCE = select(audit_pruned.c.complete_since).scalar_subquery()
_BY_ID = select(*COLUMNS, _SINCE.label("complete_since")).where(identity.c.id == bindparam("identity_id"))
