"""Use cases of service tokens. All are for global admins (contract 6.4)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any
from uuid import UUID

import orjson
from sqlalchemy import delete, select

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.records import record
from secretsvc.authentication.service_tokens import (
    new_token,
    prefix_of,
    recorded_digest,
    token_digest,
    token_of_attempt,
)
from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.statements import insert_or_ignore
from secretsvc.db.types import FoundRow
from secretsvc.identity.rules import IdentityRow, find_identity
from secretsvc.kernel.actors import Kind, Maker, author
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.errors import Conflict, Issue, NotFound, ValidationFailed, VersionConflict
from secretsvc.kernel.ids import earliest_id, new_id
from secretsvc.kernel.schema_annotations import Name, Time, schema_name, text
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.identities import identity
from secretsvc.tables.service_tokens import service_token

DAY_MS = 86_400_000
LONGEST_MS = 366 * DAY_MS
#: Tokens that end sooner than this, in milliseconds, wait for somebody to exchange them.
SOON_MS = 14 * DAY_MS
#: At least so long, in milliseconds, one attempt to make a token gives it again, and at most twice as long.
AGAIN_MS = 60_000
#: By so much, in milliseconds, the clocks of processes may differ.
LAG_MS = 60_000
#: The action of the record that a removal leaves.
DELETED = "token.delete"
TOKEN_NOT_FOUND = "Service token not found."  # noqa: S105 - a message
TOKEN_REMOVED = "The token that this form made was removed."  # noqa: S105 - a message


@schema_name("ServiceToken")
@dataclass(frozen=True, slots=True)
class TokenRow:
    """A service token as clients see it; times in epoch milliseconds, `created_by` an id or "system"."""

    id: UUID
    name: Name
    prefix: Annotated[str, text(8, 8)]
    created_at: Time
    created_by: Maker
    expires_at: Time
    last_used_at: Time | None


@schema_name("CreatedServiceToken")
@dataclass(frozen=True, slots=True)
class CreatedToken(TokenRow):
    """One that was just made, with the token itself: it is not to be had again."""

    token: Annotated[str, text(53, 53)]

    def __repr__(self) -> str:
        return f"<CreatedToken {self.id}>"


@dataclass(frozen=True, slots=True)
class EndingToken:
    """A token in force that ends; `subject` is its identity's."""

    subject: str
    name: str
    prefix: str
    expires_at: int


def create_token(
    call: UseCaseContext, identity_id: UUID, name: str, expires_at: int, *, attempt: bytes = b""
) -> CreatedToken:
    """A new token of a service identity, in force until `expires_at`, epoch milliseconds.

    The same `attempt` of the same caller within a minute makes one token however often it comes, and gives it
    again: it follows from the attempt, the minute and a subkey of the master key, and is kept nowhere. Later
    it makes another, and once that was removed, none: nothing brings a removed one back. Raises `NotFound`,
    `Conflict` for a person and for an attempt whose token was removed, `VersionConflict` for one whose token
    is being removed, and `ValidationFailed` for an end that is past or over 366 days ahead.
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    if not call.now < expires_at <= call.now + LONGEST_MS:
        problem = "Must be later than now and at most 366 days ahead."
        raise ValidationFailed(issues=(Issue("expires_at", problem),))
    holder = _service(call, identity_id)
    token, earlier = _attempted(call, holder, attempt) if attempt else (new_token(), "")
    if earlier and (made := _made(call, earlier)) is not None:
        return made
    row: dict[str, Any] = {
        "id": new_id(),
        "name": name,
        "prefix": prefix_of(token),
        "created_at": call.now,
        "created_by": call.actor.identity_id,
        "expires_at": expires_at,
        "last_used_at": None,
    }
    stored = {**row, "identity_id": holder.id, "digest": token_digest(token)}
    if not insert_or_ignore(call.connection, service_token, stored):
        return _made_meanwhile(call, token)
    if earlier:
        _check_not_removed(call, holder, {prefix_of(one) for one in (token, earlier)})
    created = CreatedToken(**{**row, "created_by": author(row["created_by"])}, token=token)
    stored_by = {"digest": recorded_digest(stored["digest"])}
    record(call, "token.create", detail=_detail(holder.id, created) | stored_by)
    return created


def _attempted(call: UseCaseContext, holder: IdentityRow, attempt: bytes) -> tuple[str, str]:
    """The token of an attempt, and the one that it made if it came first in the minute before."""
    whose = f"{call.actor.kind}|{call.actor.subject}|{holder.id}|".encode() + attempt
    key, minute = call.ring.subkey(b"service-token"), call.now // AGAIN_MS
    now, before = (token_of_attempt(key, b"%d|" % one + whose) for one in (minute, minute - 1))
    return now, before


def _made(call: UseCaseContext, token: str) -> CreatedToken | None:
    row = call.connection.execute(
        select(*_COLUMNS).where(service_token.c.digest == token_digest(token))
    ).first()
    if row is None:
        return None
    return CreatedToken(**{**row._mapping, "created_by": author(row.created_by)}, token=token)


def _made_meanwhile(call: UseCaseContext, token: str) -> CreatedToken:
    made = _made(call, token)
    if made is None:
        raise VersionConflict("The token that this form made is being removed.", hint="Look again.")
    return made


def _check_not_removed(call: UseCaseContext, holder: IdentityRow, prefixes: set[str]) -> None:
    """Raises `Conflict` where the token of an attempt was there, and is not any more; one statement.

    After the insertion, which waits for a removal that is under way.
    """
    since = earliest_id(call.now - 2 * AGAIN_MS - LAG_MS)
    removed = audit_record.c.action == DELETED, audit_record.c.id >= since
    for found in call.connection.execute(select(audit_record.c.detail).where(*removed)).scalars():
        detail = orjson.loads(found)
        if detail["identity_id"] == str(holder.id) and detail["prefix"] in prefixes:
            raise Conflict(TOKEN_REMOVED, hint="Open the form anew to make another.")


def list_tokens(call: UseCaseContext, identity_id: UUID) -> list[TokenRow]:
    """The tokens of an identity, the first first, expired ones too. Raises `NotFound`."""
    assert_can(call, Role.ADMIN, GLOBAL)
    holder = find_identity(call, identity_id)
    own = service_token.c.identity_id == holder.id
    statement = select(*_COLUMNS).where(own).order_by(service_token.c.id)
    return [_token(row) for row in call.connection.execute(statement)]


def delete_token(call: UseCaseContext, identity_id: UUID, *, token_id: UUID) -> None:
    """Removes a token, which is refused from the next request on. Raises `NotFound`."""
    assert_can(call, Role.ADMIN, GLOBAL)
    holder = find_identity(call, identity_id)
    named = service_token.c.id == token_id, service_token.c.identity_id == holder.id
    row = call.connection.execute(delete(service_token).where(*named).returning(*_COLUMNS)).first()
    if row is None:
        raise NotFound(TOKEN_NOT_FOUND)
    record(call, DELETED, detail=_detail(holder.id, _token(row)))


def ending_tokens(call: UseCaseContext, *, within: int, limit: int) -> list[EndingToken]:
    """The tokens in force that end in the next `within` milliseconds, the first to end first."""
    assert_can(call, Role.ADMIN, GLOBAL)
    row = service_token.c
    statement = (
        select(identity.c.subject, row.name, row.prefix, row.expires_at)
        .join(identity, identity.c.id == row.identity_id)
        .where(row.expires_at > call.now, row.expires_at <= call.now + within)
        .order_by(row.expires_at, row.id)
        .limit(limit)
    )
    return [EndingToken(*found) for found in call.connection.execute(statement)]


_COLUMNS = [service_token.c[one.name] for one in fields(TokenRow)]


def _service(call: UseCaseContext, identity_id: UUID) -> IdentityRow:
    holder = find_identity(call, identity_id)
    if holder.kind != Kind.SERVICE:
        raise Conflict("A person has no service tokens.")
    return holder


def _token(row: FoundRow) -> TokenRow:
    return TokenRow(**{**row._mapping, "created_by": author(row.created_by)})


def _detail(identity_id: UUID, token: TokenRow) -> dict[str, object]:
    return {
        "identity_id": identity_id,
        "token_id": token.id,
        "name": token.name,
        "prefix": token.prefix,
        "expires_at": token.expires_at,
    }
