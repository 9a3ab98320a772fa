"""The statements that an application executes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event


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
