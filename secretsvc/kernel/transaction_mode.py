"""The modes of a transaction."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """The statements that begin a transaction on each database, and whether it writes.

    `SNAPSHOT` is REPEATABLE READ on PostgreSQL, so that an export's values match its revision; reads on
    SQLite are always snapshots. `REVEAL` is the same and writes the audit record of what was read.
    `AUTOCOMMIT` begins none: each statement is a transaction by itself.
    """

    AUTOCOMMIT = ("", "", False)
    READ = ("BEGIN", "BEGIN ISOLATION LEVEL READ COMMITTED", False)
    SNAPSHOT = ("BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", False)
    REVEAL = ("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL REPEATABLE READ", True)
    WRITE = ("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL READ COMMITTED", True)

    def __init__(self, sqlite: str, postgresql: str, writes: bool) -> None:
        self.beginnings = {"sqlite": sqlite, "postgresql": postgresql}
        self.writes = writes
