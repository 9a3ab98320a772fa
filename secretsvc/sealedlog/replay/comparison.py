"""What the tables hold, and whether it is what the log explains; each row that differs is one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Table, select

from secretsvc.audit.models import denial_tally
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.row_states import EnvironmentState, GrantState, IdentityState, SecretState
from secretsvc.sealedlog.replay.stored_access import (
    read_tallies,
    stored_tokens,
    unexplained_tallies,
    unexplained_tokens,
)
from secretsvc.sealedlog.replay.stored_histories import read_histories, unexplained_histories
from secretsvc.sealedlog.replay.stored_rows import MISSING, NOT_TOLD, OTHER, all_rows, as_read
from secretsvc.sealedlog.rules.ids import as_text
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.secrets.write.description_digests import description_digest
from secretsvc.secrets.write.sealing import digest_key_of
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project
from secretsvc.tables.service_tokens import service_token

COMPARED = (
    identity, service_token, group, group_member, project, environment, grant, denial_tally,
    secret, secret_version, revision,
)  # fmt: skip


class Named(NamedTuple):
    """What counts of a group or a project."""

    slug: str


#: What of a row is compared.
Followed = TypeVar("Followed", IdentityState, EnvironmentState, GrantState, Named)


class StoredSecret(NamedTuple):
    """A row of a secret."""

    environment_id: str
    key: str
    version: int
    deleted: bool
    description: str | None


def read_state(connection: Connection, ring: KeyRing) -> State:
    """What the tables hold, with descriptions digested under the active key."""
    state, kid = State(), ring.active_kid
    key = digest_key_of(connection, ring, kid)
    state.identities = dict(_rows(connection, IdentityState, identity))
    state.groups = {one: row.slug for one, row in _rows(connection, Named, group)}
    for group_id, identity_id in _members(connection):
        state.members.setdefault(group_id, set()).add(identity_id)
    state.projects = {one: row.slug for one, row in _rows(connection, Named, project)}
    state.environments = dict(_rows(connection, EnvironmentState, environment))
    state.grants = dict(_rows(connection, GrantState, grant))
    for row in _secrets(connection):
        digest = _digest(key, row)
        found = SecretState(row.version, row.deleted, None if digest is None else kid, digest)
        state.secrets.setdefault(row.environment_id, {})[row.key] = found
    state.tokens, state.tallies = dict(stored_tokens(connection)), read_tallies(connection)
    state.histories = read_histories(connection)
    return state


def unexplained(connection: Connection, ring: KeyRing | None, state: State) -> Iterator[str]:
    """Each row that is not as the state has it, and each that is not there; the state is used up.

    Without a ring, of a description only whether there is one.
    """
    groups = {one: Named(slug) for one, slug in state.groups.items()}
    projects = {one: Named(slug) for one, slug in state.projects.items()}
    members = {(one, member) for one, held in state.members.items() for member in held if one in groups}
    yield from _differing("identity", state.identities, _rows(connection, IdentityState, identity))
    yield from _differing("group", groups, _rows(connection, Named, group))
    stored = {*_members(connection)}
    for one, member in sorted(stored - members, key=str):
        yield NOT_TOLD.format(f"member {member} of group {one}")
    for one, member in sorted(members - stored, key=str):
        yield MISSING.format(f"member {member} of group {one}")
    yield from _differing("project", projects, _rows(connection, Named, project))
    yield from _differing("environment", state.environments, _rows(connection, EnvironmentState, environment))
    yield from _differing("grant", state.grants, _rows(connection, GrantState, grant))
    yield from _secrets_differing(connection, _Digests(connection, ring), state)
    yield from unexplained_histories(connection, state.histories)
    yield from unexplained_tokens(connection, state)
    yield from unexplained_tallies(connection, state)


def _differing(thing: str, told: dict[str, Followed], rows: Iterator[tuple[str, Followed]]) -> Iterator[str]:
    for one, row in rows:
        wanted = told.pop(one, None)
        if wanted is None:
            yield NOT_TOLD.format(f"{thing} {one}")
        elif wanted != row:
            other = [name for name in row._fields if getattr(row, name) != getattr(wanted, name)]
            yield OTHER.format(f"{thing} {one}", ", ".join(other))
    for one in told:
        yield MISSING.format(f"{thing} {one}")


class _Digests:
    """Compares descriptions with digests, whichever master keys those name."""

    def __init__(self, connection: Connection, ring: KeyRing | None) -> None:
        self._connection, self._ring = connection, ring
        self._keys: dict[str, bytes | None] = {}

    def problem(self, row: StoredSecret, told: SecretState) -> str | None:
        """None where the description is the one that is told of."""
        thing = f"key {row.key} of environment {row.environment_id}"
        if row.description is None or told.kid is None or self._ring is None:
            same = (row.description is None) == (told.digest is None)
            return None if same else OTHER.format(thing, "description")
        if told.kid not in self._keys:
            self._keys[told.kid] = self._key(self._ring, told.kid)
        key = self._keys[told.kid]
        if key is None:
            return f"{thing}: without the master key {told.kid} its description cannot be compared"
        same = _digest(key, row) == told.digest
        return None if same else OTHER.format(thing, "description")

    def _key(self, ring: KeyRing, kid: str) -> bytes | None:
        try:
            return digest_key_of(self._connection, ring, kid)
        except (DecryptFailed, UnknownKid):
            return None


def _digest(key: bytes, row: StoredSecret) -> str | None:
    """None without a description, of one that is no text, and where the id of its environment is none."""
    try:
        return description_digest(key, UUID(row.environment_id), row.key, row.description)
    except (AttributeError, ValueError):
        return None


def _secrets_differing(connection: Connection, digests: _Digests, state: State) -> Iterator[str]:
    for row in _secrets(connection):
        thing = f"key {row.key} of environment {row.environment_id}"
        told = state.secrets.get(row.environment_id, {}).pop(row.key, None)
        if told is None:
            yield NOT_TOLD.format(thing)
            continue
        other = [name for name in ("version", "deleted") if getattr(row, name) != getattr(told, name)]
        if other:
            yield OTHER.format(thing, ", ".join(other))
        problem = digests.problem(row, told)
        if problem is not None:
            yield problem
    for environment_id, held in state.secrets.items():
        for key in held:
            yield MISSING.format(f"key {key} of environment {environment_id}")


def _rows(connection: Connection, kind: type[Followed], table: Table) -> Iterator[tuple[str, Followed]]:
    """The id of each row, and what counts of it."""
    columns = [as_read(table.c[name]) for name in kind._fields]
    for one, *values in all_rows(connection, select(as_text(table.c.id), *columns).order_by(table.c.id)):
        yield one, kind._make(values)


def _members(connection: Connection) -> Iterator[tuple[str, str]]:
    columns = as_text(group_member.c.group_id), as_text(group_member.c.identity_id)
    for row in all_rows(connection, select(*columns)):
        yield row[0], row[1]


def _secrets(connection: Connection) -> Iterator[StoredSecret]:
    columns = [as_read(secret.c[name]) for name in StoredSecret._fields]
    for row in all_rows(connection, select(*columns).order_by(secret.c.id)):
        yield StoredSecret(*row)
