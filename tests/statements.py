"""The statements that an application executes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from service import Service
from sqlalchemy import event


@contextmanager
def recorded(service: Service) -> Iterator[list[str]]:
    """The statements that are executed meanwhile, beside BEGIN and COMMIT."""
    statements: list[str] = []

    def note(_connection, _cursor, statement, *_rest) -> None:
        if not statement.startswith("BEGIN"):
            statements.append(statement)

    event.listen(service.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(service.engine, "before_cursor_execute", note)
