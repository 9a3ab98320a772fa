"""Use cases of the key ring: report it, move rows to the active key, prove that all can be opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from limits import RateLimitItem

from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.crypto import KeyStatus
from secretsvc.kernel.errors import Conflict, ServerMisconfigured
from secretsvc.kernel.schema_annotations import Count, Kid, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.keyring.rules import (
    EnvelopeLocation,
    RekeyRow,
    adopted_rows,
    count_by_kid,
    count_others,
    delete_adoption,
    every_row,
    find_unused,
    fullest_row,
    load_page,
    retire_unused,
    save_page,
)
from secretsvc.sealedlog.rules.signer import move_signer
from secretsvc.sealedlog.rules.state import LogState, log_state
from secretsvc.secrets.queries.rows import open_value, problem_with
from secretsvc.secrets.write.sealing import COMMAND, Plain, active_key, adopt_key, invalidate_key_status, seal

VERIFY_PAGE = 500


@schema_name("MasterKey")
@dataclass(frozen=True, slots=True)
class MasterKey:
    """A master key by its kid; one that is not `held` is named by rows but not on the ring."""

    kid: Kid
    active: bool
    held: bool
    rows: Count


@dataclass(frozen=True, slots=True)
class KeyRingReport:
    """The ring and its rows, counted anew over current versions and history."""

    active_kid: Kid
    keys: list[MasterKey]
    #: The envelope of its signing key names a key, too, and is not counted (contract 7.2).
    log: LogState

    @property
    def safe_to_remove_old_key(self) -> bool:
        """True exactly when no envelope names a key that is not the active one."""
        return self.remaining == 0 and self.log.signer_kid in (None, self.active_kid)

    @property
    def remaining(self) -> int:
        """How many envelopes name a key that is not the active one."""
        return sum(key.rows for key in self.keys if not key.active)

    @property
    def unreadable(self) -> int:
        """How many envelopes name a key that is not on the ring, so that nobody can open them."""
        return sum(key.rows for key in self.keys if not key.held)

    @property
    def holds_old_key(self) -> bool:
        """Whether a key beside the active one is on the ring."""
        return any(key.held and not key.active for key in self.keys)


@dataclass(frozen=True, slots=True)
class ConfiguredLimits:
    """What the settings allow, and the database they lead to.

    Sizes in bytes; `rate`, `written`, `announced` and `denials` are None where there is no limit; `is_shared`
    says whether the first three are counted over all processes. `database` is the engine's name.
    """

    secret_max_bytes: int
    env_max_secrets: int
    body_max_bytes: int
    rate: RateLimitItem | None
    written: RateLimitItem | None
    announced: RateLimitItem | None
    is_shared: bool
    denials: RateLimitItem | None
    database: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """When a master key was taken into use, and when it was retired, if it was; epoch milliseconds."""

    kid: str
    adopted_at: int
    retired_at: int | None


@dataclass(frozen=True, slots=True)
class LargestEnvironment:
    """The environment with the most keys, by slugs and names."""

    project: str
    project_name: str
    environment: str
    environment_name: str
    keys: int


@schema_name("RekeyResult")
@dataclass(frozen=True, slots=True)
class Rekeyed:
    """How many envelopes a page moved, and how many are left; rotation is finished at 0."""

    rekeyed: Count
    remaining: Count


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of the active key: `before` is the kid that was the newest adopted one."""

    kid: str
    before: str | None
    changed: bool
    was_retired: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An envelope that cannot be opened, and the code of the reason."""

    location: EnvelopeLocation
    code: str


def key_ring(call: UseCaseContext) -> KeyRingReport:
    """The report (specification, "Admin"). Raises `ServerMisconfigured` where there is no ring."""
    assert_can(call, Role.ADMIN, GLOBAL)
    ring, rows = call.ring, count_by_kid(call)
    kids = [*ring.kids, *sorted(rows.keys() - {*ring.kids})]
    keys = [MasterKey(kid, kid == ring.active_kid, kid in ring.kids, rows.get(kid, 0)) for kid in kids]
    return KeyRingReport(ring.active_kid, keys, log_state(call.connection))


def limits_in_force(call: UseCaseContext) -> ConfiguredLimits:
    """The limits of this process. Raises `ServerMisconfigured` for a malformed one."""
    assert_can(call, Role.ADMIN, GLOBAL)
    settings = call.settings
    return ConfiguredLimits(
        settings.secret_max_bytes,
        settings.env_max_secrets,
        settings.body_max_bytes,
        settings.rate_limit,
        settings.write_limit,
        settings.identity_limit,
        not settings.rate_limit_storage.startswith("memory:"),
        settings.denial_limit,
        call.connection.dialect.name,
    )


def adoptions(call: UseCaseContext) -> dict[str, Adoption]:
    """The adopted keys by their kid, the newest last."""
    assert_can(call, Role.ADMIN, GLOBAL)
    return {row.kid: Adoption(*row) for row in adopted_rows(call)}


def fullest_environment(call: UseCaseContext) -> LargestEnvironment | None:
    """Where there are the most keys, None where there is none."""
    assert_can(call, Role.ADMIN, GLOBAL)
    row = fullest_row(call)
    return None if row is None else LargestEnvironment(*row)


def rekey(call: UseCaseContext, limit: int) -> Rekeyed:
    """Moves one page of at most `limit` envelopes to the active key, all of them or none.

    The first takes the signing key of the log along, which is not counted. Plaintexts, versions, revisions
    and times stay as they are. Where nothing remains, keys that no envelope names are retired. Raises
    `DecryptFailed` or `UnknownKid` for an envelope that cannot be opened, and `ServerMisconfigured` where
    there is something to move and the active key may not seal.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    active = call.ring.active_kid
    page = load_page(call, active, limit)
    if page:
        save_page(call, _resealed(call, page))
    moved = move_signer(call) or bool(page)
    remaining, may_seal = count_others(call, active)
    if moved and not may_seal:
        # It was retired by another process meanwhile; all of this is undone.
        invalidate_key_status(call)
        raise ServerMisconfigured()
    if moved:
        detail = {"rekeyed": len(page), "remaining": remaining, "active_kid": active}
        record(call, "keyring.rekey", detail=detail)
    if not remaining:
        retire_unused(call, active)
    return Rekeyed(len(page), remaining)


def count_remaining(call: UseCaseContext) -> int:
    """How many envelopes are not under the active key."""
    assert_can(call, Role.ADMIN, GLOBAL)
    return count_others(call, call.ring.active_kid).remaining


def verify_envelopes(call: UseCaseContext) -> Iterator[Unreadable | None]:
    """Opens every envelope, current and historical: one item each, None for one that is in order.

    Raises `ServerMisconfigured` where there is no ring.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    call.ring.check()
    found = ((location, problem_with(call, row.sealed)) for row, location in every_row(call, VERIFY_PAGE))
    return (None if error is None else Unreadable(location, error) for location, error in found)


def unused_keys(call: UseCaseContext) -> list[str]:
    """The kids of the keys that can be retired: adopted, but not as the newest, and named by no envelope.

    None where the active key may not seal itself: a wrong one must not retire those that are right.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    return find_unused(call, call.ring.active_kid)


def retire_unused_keys(call: UseCaseContext) -> None:
    """Retires them: they go on opening, but seal nothing until they are adopted anew."""
    assert_can(call, Role.ADMIN, GLOBAL)
    retire_unused(call, call.ring.active_kid)


def adopt(call: UseCaseContext) -> Adopted:
    """Takes the active key into use as the newest one, also if it was retired, and records that.

    One that is the newest already is left alone. Raises `Conflict` where another was adopted at the same
    moment, and `ServerMisconfigured` where there is no ring.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    kid, key = call.ring.active_kid, active_key(call.connection, call.ring)
    done = Adopted(kid, key.newest, kid != key.newest, key.status is KeyStatus.RETIRED)
    if not done.changed:
        return done
    if key.status is not KeyStatus.UNKNOWN:
        delete_adoption(call, kid)
    if not adopt_key(call, kid, key.next_number, COMMAND):
        raise Conflict("Another master key was adopted at the same moment.")
    return done


def _resealed(call: UseCaseContext, page: list[RekeyRow]) -> list[Mapping[str, object]]:
    opened = [
        Plain(one.environment_id, one.key, one.version, open_value(call, one))
        for one in (row.sealed for row in page)
    ]
    return [
        {
            "row_id": row.secret_id,
            "row_version": row.sealed.version,
            "old_kid": row.sealed.kid,
            "new_envelope": envelope,
            "new_kid": kid,
        }
        for row, (envelope, kid) in zip(page, seal(call, opened), strict=True)
    ]
