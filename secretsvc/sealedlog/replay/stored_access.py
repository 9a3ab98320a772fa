"""The service tokens and the tallies of denials that the tables hold, and which the log does not explain."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from secretsvc.audit.models import REFUSALS, denial_tally
from secretsvc.authentication.service_tokens import recorded_digest
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.row_states import UNTOLD, Tally, TokenState
from secretsvc.sealedlog.replay.stored_rows import (
    MISSING,
    NOT_TOLD,
    OTHER,
    all_rows,
    as_read,
    differing,
)
from secretsvc.tables.service_tokens import service_token

TOKEN = "service token {}"  # noqa: S105 - how one is called
TALLY = "denials of identity {} at {}"


def stored_tokens(connection: Connection) -> Iterator[tuple[str, TokenState]]:
    """Yield the id of each token, and what counts of it."""
    columns = [as_read(service_token.c[name]) for name in ("id", *TokenState._fields)]
    for one, *fields in all_rows(connection, select(*columns).order_by(service_token.c.id)):
        token = TokenState(*fields)
        yield one, token._replace(digest=recorded_digest(token.digest))


def read_tallies(connection: Connection) -> dict[str, dict[str, Tally]]:
    """Return the tallies by identity and scope."""
    found: dict[str, dict[str, Tally]] = {}
    for identity_id, scope_id, tally in _tallies(connection):
        found.setdefault(identity_id, {})[scope_id] = tally
    return found


def unexplained_tokens(connection: Connection, state: State) -> Iterator[str]:
    """Yield a line for each token that is not as the state has it; uses the state up.

    Behind a state of an earlier release, a token may be from before.
    """
    for one, token in stored_tokens(connection):
        told = state.tokens.pop(one, None)
        if told is None:
            if not state.is_partial:
                yield NOT_TOLD.format(TOKEN.format(one))
            continue
        other = differing(token, told if told.digest != UNTOLD else told._replace(digest=token.digest))
        if other:
            yield OTHER.format(TOKEN.format(one), ", ".join(other))
    for one in state.tokens:
        yield MISSING.format(TOKEN.format(one))


def unexplained_tallies(connection: Connection, state: State) -> Iterator[str]:
    """Yield a line for each tally that is not as the state has it; uses the state up.

    Behind a state of an earlier release, a tally may have counted more before.
    """
    for identity_id, scope_id, row in _tallies(connection):
        told = state.tallies.get(identity_id, {}).pop(scope_id, None)
        thing = TALLY.format(identity_id, scope_id)
        if told is None:
            if not state.is_partial:
                yield NOT_TOLD.format(thing)
            continue
        other = differing(row, told)
        if other and not (state.is_partial and _contains(row, told)):
            yield OTHER.format(thing, ", ".join(other))
    for identity_id, held in state.tallies.items():
        for scope_id in held:
            yield MISSING.format(TALLY.format(identity_id, scope_id))


def _contains(row: Tally, told: Tally) -> bool:
    """Whether a tally has counted at least what the log tells of; on SQLite a row may hold anything."""
    if not all(isinstance(one, int) for one in row):
        return False
    first, last = row.first_denied_at <= told.first_denied_at, row.last_denied_at >= told.last_denied_at
    return row.denials >= told.denials and first and last


def _tallies(connection: Connection) -> Iterator[tuple[str, str, Tally]]:
    columns = [as_read(denial_tally.c[name]) for name in ("identity_id", "scope_id", *Tally._fields)]
    rows = select(*columns).where(denial_tally.c.scope_id != REFUSALS)
    for identity_id, scope_id, *counts in all_rows(
        connection, rows.order_by(denial_tally.c.identity_id, denial_tally.c.scope_id)
    ):
        yield identity_id, scope_id, Tally(*counts)
