"""The modes of a transaction: each operation and form declares its own, as `mode`."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """The statements that begin a transaction on each database, and whether it writes.

    `AUTOCOMMIT` begins none: each statement is a transaction by itself. `READ` reads what is committed at
    each statement. `SNAPSHOT` is REPEATABLE READ on PostgreSQL, so that an export's values match its
    revision; reads on SQLite are always snapshots. `REVEAL` is a snapshot that ends with an audit record:
    on SQLite it has the write lock from the start, because a read cannot always take it later. `WRITE`
    reads what is committed at each statement, and locks the rows that it changes.
    """

    AUTOCOMMIT = ("", "", False)
    READ = ("BEGIN", "BEGIN ISOLATION LEVEL READ COMMITTED", False)
    SNAPSHOT = ("BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", False)
    REVEAL = ("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL REPEATABLE READ", True)
    WRITE = ("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL READ COMMITTED", True)

    def __init__(self, sqlite: str, postgresql: str, writes: bool) -> None:
        self.beginnings = {"sqlite": sqlite, "postgresql": postgresql}
        self.writes = writes
