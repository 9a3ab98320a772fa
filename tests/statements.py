"""The statements that an application executes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Connection, Engine, event

from secretsvc.db.engine import mode_of
from secretsvc.kernel.transaction_mode import Mode


@contextmanager
def recorded(engine: Engine) -> Iterator[list[str]]:
    """The statements that are executed meanwhile, beside those that begin and end transactions."""
    statements: list[str] = []

    def note(_connection, _cursor, statement, *_rest) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


@contextmanager
def transactions(engine: Engine) -> Iterator[list[str]]:
    """What begins and ends transactions meanwhile.

    Without the fast path SQLAlchemy counts each statement in autocommit mode as one, though it sends neither.
    """
    sent: list[str] = []

    def note(name: str, connection: Connection) -> None:
        if mode_of(connection) is not Mode.AUTOCOMMIT:
            sent.append(name)

    noting = {name: partial(note, name) for name in ("begin", "commit")}
    for name, listener in noting.items():
        event.listen(engine, name, listener)
    try:
        yield sent
    finally:
        for name, listener in noting.items():
            event.remove(engine, name, listener)
