"""What the role of the service, or the user of its process, may do with the database."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, text

from secretsvc.db.schema import WRITES
from secretsvc.db.sqlite_files import file_of
from secretsvc.deployment.checks.findings import Finding, fail, ok, warn

NAME = "rights"
_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
#: What would change the log.
_CHANGING = (*_ALL[1:], "TRUNCATE")
_ON_TABLES = text(
    """
    SELECT relname, asked.name
    FROM unnest(CAST(:tables AS text[]), CAST(:rights AS text[])) AS asked(table_name, name)
    JOIN pg_class ON relname = asked.table_name
    WHERE relkind IN ('r', 'p') AND pg_table_is_visible(pg_class.oid)
    AND has_table_privilege(pg_class.oid, asked.name) = :held
    ORDER BY 1, 2
    """
)
# By CASE, because what is asked of a sequence is an error of anything else, and conditions have no order.
_MISSING_ON_SEQUENCES = text(
    """
    SELECT s.relname, 'USAGE' FROM pg_class s
    JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
    JOIN pg_class t ON t.oid = d.refobjid
    WHERE t.relname = ANY(CAST(:tables AS text[])) AND pg_table_is_visible(t.oid)
    AND CASE s.relkind WHEN 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE') END
    ORDER BY 1
    """
)
_OWNED = text(
    """
    SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relname = ANY(CAST(:tables AS text[]))
    AND pg_table_is_visible(oid) AND pg_has_role(relowner, 'MEMBER') ORDER BY 1
    """
)
_READ_ONLY = text("SELECT current_setting('transaction_read_only')::bool")


def check_rights(connection: Connection, tables: Collection[str]) -> Iterator[Finding]:
    """On PostgreSQL of the role, also over sequences; on SQLite of this process over the file."""
    if connection.dialect.name == "sqlite":
        yield from _of_the_process(connection)
        return
    if connection.execute(_READ_ONLY).scalar_one():
        yield fail(NAME, "the database is read-only: connect to the primary, or end what made it so")
        return
    missing = [*_missing(connection, tables)]
    yield from (
        fail(NAME, f"the role lacks {', '.join(rights)} on {name}: GRANT them to it")
        for name, rights in missing
    )
    owned = connection.execute(_OWNED, {"tables": [*WRITES]}).scalars().all()
    never = {name: [one for one in _CHANGING if one not in writes] for name, writes in WRITES.items()}
    wide = [] if owned else [*_asked(connection, never, held=True)]
    if owned:
        yield warn(
            NAME,
            f"the role owns {', '.join(owned)} and could change the log: serve by another than migrates",
        )
    elif wide:
        told = "; ".join(f"{', '.join(rights)} on {name}" for name, rights in wide)
        yield warn(NAME, f"the role may do what the service never does: REVOKE {told} from it")
    elif not missing:
        yield ok(NAME, "the role has what it needs, over sequences too, and does not own the audit log")


def _of_the_process(connection: Connection) -> Iterator[Finding]:
    path = file_of(connection.engine.url)
    if path is None:
        yield ok(NAME, "the database is in memory")
        return
    folder = os.path.dirname(os.path.abspath(path))
    bad = [one for one in (path, folder) if not os.access(one, os.W_OK)]
    if bad:
        yield fail(NAME, f"this user may not write to {' and '.join(bad)}: give both to the service's user")
    else:
        yield ok(NAME, "this user may write to the database and its folder")


def _missing(connection: Connection, tables: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    needed: dict[str, Sequence[str]] = dict.fromkeys(tables, _ALL) | {"alembic_version": ("SELECT",)}
    needed |= {name: ("SELECT", *writes) for name, writes in WRITES.items()}
    yield from _asked(connection, needed, held=False)
    yield from _grouped(connection.execute(_MISSING_ON_SEQUENCES, {"tables": [*tables]}).all())


def _asked(
    connection: Connection, rights: Mapping[str, Sequence[str]], *, held: bool
) -> Iterator[tuple[str, list[str]]]:
    """Which of these rights the role has, or has not, by table."""
    pairs = [(table, one) for table, several in rights.items() for one in several]
    tables, names = ([*column] for column in zip(*pairs, strict=True))
    parameters = {"tables": tables, "rights": names, "held": held}
    yield from _grouped(connection.execute(_ON_TABLES, parameters).all())


def _grouped(rows: Sequence[Any]) -> Iterator[tuple[str, list[str]]]:
    for name, group in groupby(rows, key=lambda row: str(row[0])):
        yield name, [str(row[1]) for row in group]
