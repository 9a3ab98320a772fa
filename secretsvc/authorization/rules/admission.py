"""Admission: from a proven principal to an actor with a snapshot of grants, in the specification's order.

Each write here commits in a short transaction of its own, before the request's main one begins: a
caller who is then denied must still be found by whoever wants to grant something.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from uuid import UUID

from sqlalchemy import Connection, or_, select, update
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.rules import records as audit
from secretsvc.authentication.service_tokens import ServiceToken
from secretsvc.authorization.rules.origins import (
    check_origin,
    columns_of_origin,
    keep_origin,
    lacks_origin,
)
from secretsvc.authorization.rules.snapshot import (
    CallerSnapshot,
    KnownIdentity,
    has_own_global_admin,
    load_standing,
)
from secretsvc.db.engine import write_transaction
from secretsvc.db.error_mapping import WriteLockTimeout, map_error
from secretsvc.db.schema import serves
from secretsvc.db.session import Session
from secretsvc.db.statements import insert_or_ignore
from secretsvc.kernel.actors import SYSTEM, Actor, Kind, Principal
from secretsvc.kernel.authorization import ADMIN_EVERYWHERE, GrantSnapshot, HeldGrant, Role, ScopeType
from secretsvc.kernel.errors import (
    Internal,
    NoAdminsConfigured,
    ServerMisconfigured,
    Unauthenticated,
    Unavailable,
)
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity
from secretsvc.tables.service_tokens import service_token

log = logging.getLogger(__name__)
_unwritten = LogThrottle()


def is_bootstrap_admin(settings: Settings, principal: Principal) -> bool:
    """Whether `BOOTSTRAP_ADMINS` names the principal; it names people only (contract 3.6)."""
    return principal.kind is Kind.USER and principal.subject in settings.bootstrap_admins


def with_bootstrap_grant(grants: tuple[HeldGrant, ...]) -> tuple[HeldGrant, ...]:
    """The grants of a bootstrap admin, who is an admin also before there is a row that says so."""
    return grants if has_own_global_admin(grants) else (ADMIN_EVERYWHERE, *grants)


def _log_unwritten(error: DBAPIError | WriteLockTimeout) -> None:
    """Logs that a visit was not written, at most once a minute for each cause."""
    cause = type(getattr(error, "orig", None) or error).__name__
    before = _unwritten.passes(cause)
    if before is not None:
        log.warning("last_seen_at was not written (%s), %d times since the last line", cause, before)


class IdentityAdmission:
    """Admits proven callers over the connection of a request, under one set of settings."""

    def __init__(self, session: Session, settings: Settings, client_address: str | None = None) -> None:
        self.session, self.settings, self.client_address = session, settings, client_address

    def admit(
        self,
        proven: Principal | ServiceToken,
        now: int,
        request_id: str,
        judge_bearer: Callable[[Principal | None], Principal],
    ) -> tuple[Actor, GrantSnapshot]:
        """Load the caller's identity and grants; write a visit that is due.

        `now` is in epoch milliseconds.

        1. Load the snapshot: one statement, and the only one for a caller who was seen recently.
        2. For a service token, `judge_bearer` checks its owner before anything is written.
        3. Refuse where no admin exists and none is configured.
        4. If a visit is due, write it in a transaction of its own, and load the snapshot again.

        Raises `NoAdminsConfigured`, `OtherIssuer`, `Unauthenticated`, or `ServerMisconfigured` over a schema
        that is for other releases.
        """
        standing = self._standing(proven, now)
        principal = proven if isinstance(proven, Principal) else judge_bearer(standing.principal)
        if not standing.admin_exists and not self.settings.bootstrap_admins:
            raise NoAdminsConfigured()
        is_bootstrap = is_bootstrap_admin(self.settings, principal)
        if self._is_due(standing, is_bootstrap, now) or lacks_origin(principal, standing.identity):
            token = proven if isinstance(proven, ServiceToken) else None
            self._try_to_write_visit(principal, token, standing, is_bootstrap, now, request_id)
            standing = self._standing(proven, now)
        known = standing.identity
        if known is None:
            # Only an identity that never signed in can be removed, but a token can be at any time.
            raise Internal() if isinstance(proven, Principal) else Unauthenticated()
        grants = (*standing.grants, ADMIN_EVERYWHERE) if is_bootstrap else standing.grants
        actor = Actor(known.id, principal.kind.value, principal.subject, known.display_name)
        return actor, GrantSnapshot(grants, known.disabled)

    def _standing(self, proven: Principal | ServiceToken, now: int) -> CallerSnapshot:
        found = self._loaded(proven, now)
        if not serves(found.schema):
            self.settings.complain("the schema of the database is not one that this release may serve")
            raise ServerMisconfigured()
        if isinstance(proven, Principal):
            check_origin(self.session.connection(Mode.AUTOCOMMIT), proven, found.identity)
        return found

    def _loaded(self, proven: Principal | ServiceToken, now: int) -> CallerSnapshot:
        try:
            return load_standing(self.session.connection(Mode.AUTOCOMMIT), proven, now)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        # The server was restarted; the pool has let go of its connections, so a second try has a new one.
        self.session.restart()
        return load_standing(self.session.connection(Mode.AUTOCOMMIT), proven, now)

    def _try_to_write_visit(
        self,
        principal: Principal,
        token: ServiceToken | None,
        standing: CallerSnapshot,
        is_bootstrap: bool,
        now: int,
        request_id: str,
    ) -> None:
        """Writes the visit. Only a first visit has to be written: without it there is no identity.

        A later one is logged if the database cannot be written to, so that names can still be read.
        """
        # Released first: if each request held two connections, all could wait for their second one.
        self.session.restart()
        try:
            self._write_visit(principal, token, standing.identity, is_bootstrap, now, request_id)
        except (DBAPIError, WriteLockTimeout) as error:
            if standing.is_first_visit or not isinstance(map_error(error), Unavailable):
                raise
            _log_unwritten(error)

    def _is_due(self, standing: CallerSnapshot, is_bootstrap: bool, now: int) -> bool:
        """Whether the caller was not seen recently, or is a bootstrap admin without the grant."""
        known = standing.identity
        seen = None if known is None else known.last_seen_at
        if known is None or seen is None or seen <= now - self.settings.last_seen_resolution:
            return True
        return is_bootstrap and not known.disabled and not standing.has_own_global_admin

    def _write_visit(
        self,
        principal: Principal,
        token: ServiceToken | None,
        known: KnownIdentity | None,
        is_bootstrap: bool,
        now: int,
        request_id: str,
    ) -> None:
        with write_transaction(self.session.engine) as connection:
            if token is None:
                self._create_or_touch(connection, principal, known, is_bootstrap, now, request_id)
            else:
                self._touch_bearer(connection, principal, token, now)

    def _create_or_touch(
        self,
        connection: Connection,
        principal: Principal,
        known: KnownIdentity | None,
        is_bootstrap: bool,
        now: int,
        request_id: str,
    ) -> None:
        if known is not None and known.last_seen_at is not None:
            self._touch(connection, principal, now)
            identity_id = None if known.disabled else known.id
            if known.issuer is None:
                keep_origin(connection, principal)
        else:
            identity_id = self._see_first(connection, principal, known is not None, now, request_id)
            if identity_id is None:
                keep_origin(connection, principal)
            if identity_id is None and is_bootstrap:
                identity_id = self._enabled_id(connection, principal)
        if is_bootstrap and identity_id is not None:
            self._bootstrap(connection, identity_id, principal, now, request_id)

    def _see_first(
        self, connection: Connection, principal: Principal, was_announced: bool, now: int, request_id: str
    ) -> UUID | None:
        """Writes a first visit: the id of the identity if that was made for it.

        What was announced can have been removed since it was looked for, and what was not, announced.
        """
        if was_announced and self._touch(connection, principal, now):
            return None
        made = self._create(connection, principal, now, request_id)
        if made is None:
            self._touch(connection, principal, now)
        return made

    def _create(self, connection: Connection, principal: Principal, now: int, request_id: str) -> UUID | None:
        """The new identity's id, or None where another first request or an announcement was quicker."""
        identity_id = new_id()
        row = {
            "id": identity_id,
            "kind": principal.kind.value,
            "subject": principal.subject,
            "disabled": False,
            "created_at": now,
            "last_seen_at": now,
            **columns_of_origin(principal),
        }
        if not insert_or_ignore(connection, identity, row):
            return None
        actor = Actor(identity_id, principal.kind.value, principal.subject)
        detail = {"identity_id": str(identity_id)}
        if principal.issuer is not None:
            detail["issuer"] = principal.issuer
        self._record(connection, actor, now, request_id, "identity.create", detail)
        return identity_id

    def _enabled_id(self, connection: Connection, principal: Principal) -> UUID | None:
        row = identity.c
        named = row.kind == principal.kind.value, row.subject == principal.subject
        found: UUID | None = connection.execute(select(row.id).where(*named, ~row.disabled)).scalar()
        return found

    def _touch(self, connection: Connection, principal: Principal, now: int) -> bool:
        """Writes `last_seen_at` unless another request did so within the resolution; whether it did."""
        seen, known = identity.c.last_seen_at, identity.c
        stale = or_(seen.is_(None), seen <= now - self.settings.last_seen_resolution)
        caller = (known.kind == principal.kind.value, known.subject == principal.subject)
        touched = connection.execute(update(identity).where(*caller, stale).values(last_seen_at=now))
        return touched.rowcount > 0

    def _touch_bearer(
        self, connection: Connection, principal: Principal, token: ServiceToken, now: int
    ) -> None:
        """Also writes the token's `last_used_at`, by the rule of `last_seen_at` (contract 6.4)."""
        self._touch(connection, principal, now)
        row = service_token.c
        stale = or_(row.last_used_at.is_(None), row.last_used_at <= now - self.settings.last_seen_resolution)
        connection.execute(
            update(service_token).where(row.digest == token.digest, stale).values(last_used_at=now)
        )

    def _bootstrap(
        self, connection: Connection, identity_id: UUID, principal: Principal, now: int, request_id: str
    ) -> None:
        """Gives a bootstrap admin the real grant row, attributed to the system, once."""
        grant_id = new_id()
        row = {
            "id": grant_id,
            "identity_id": identity_id,
            "scope_type": ScopeType.GLOBAL.value,
            "role": Role.ADMIN.value,
            "created_at": now,
        }
        if not insert_or_ignore(connection, grant, row):
            return
        detail = {
            "grant_id": str(grant_id),
            "identity_id": str(identity_id),
            "subject": principal.subject,
        }
        self._record(connection, SYSTEM, now, request_id, "grant.bootstrap", detail)

    def _record(
        self,
        connection: Connection,
        actor: Actor,
        now: int,
        request_id: str,
        action: str,
        detail: Mapping[str, object],
    ) -> None:
        address = self.client_address
        audit.write_record(connection, actor, now, request_id, action, detail=detail, client_address=address)
