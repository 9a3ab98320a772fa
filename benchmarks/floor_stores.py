"""The floor's databases: the raw drivers, one connection, and as few round trips as there can be."""

from __future__ import annotations

import sqlite3
import time
from typing import Any, Protocol

import orjson
import psycopg
import uuid_utils
import uuid_utils.compat

Row = tuple[Any, ...]

# The identity, whether any usable admin exists, the caller's own grants, those of its groups.
SNAPSHOT = """
WITH me AS (SELECT id, disabled, last_seen_at FROM identity WHERE kind = 'user' AND subject = {0})
SELECT 'me', id, NULL, NULL, NULL, NULL, disabled FROM me
UNION ALL SELECT 'admins', NULL, NULL, NULL, NULL, NULL,
  EXISTS (SELECT 1 FROM "grant" JOIN identity ON identity.id = "grant".identity_id
    WHERE scope_type = 'global' AND role = 'admin' AND (expires_at IS NULL OR expires_at > {0})
    AND NOT disabled)
UNION ALL SELECT 'grant', "grant".id, role, scope_type, project.slug, environment.slug, NULL
  FROM "grant" LEFT JOIN project ON project.id = "grant".project_id
  LEFT JOIN environment ON environment.id = "grant".environment_id
  WHERE identity_id = (SELECT id FROM me) AND (expires_at IS NULL OR expires_at > {0})
UNION ALL SELECT 'grant', "grant".id, role, scope_type, project.slug, environment.slug, NULL
  FROM group_member JOIN "grant" ON "grant".group_id = group_member.group_id
  LEFT JOIN project ON project.id = "grant".project_id
  LEFT JOIN environment ON environment.id = "grant".environment_id
  WHERE group_member.identity_id = (SELECT id FROM me) AND (expires_at IS NULL OR expires_at > {0})
"""
_ENVIRONMENT = """
SELECT project.id, environment.id, rev FROM project JOIN environment ON project_id = project.id
WHERE project.slug = {0} AND environment.slug = {0}"""
_CURRENT = """
JOIN secret ON secret.environment_id = environment.id
JOIN secret_version ON secret_id = secret.id AND secret_version.version = secret.version
WHERE project.slug = {0} AND environment.slug = {0} AND NOT deleted"""
_ONE = f"""
SELECT project.id, environment.id, secret.id, secret.version, envelope, kid
FROM project JOIN environment ON project_id = project.id {_CURRENT} AND key = {{0}}"""  # noqa: S608
_ALL = f"""
SELECT key, secret.version, secret.description, envelope, kid, secret.created_at, secret.updated_at
FROM project JOIN environment ON project_id = project.id {_CURRENT} ORDER BY key"""  # noqa: S608
_ADVANCE = """
UPDATE environment SET rev = rev + 1, updated_at = {0}
WHERE id = (SELECT environment.id FROM project JOIN environment ON project_id = project.id
  WHERE project.slug = {0} AND environment.slug = {0})
RETURNING project_id, id, rev"""
_KNOWN = """
SELECT key, secret.id, version FROM project JOIN environment ON project_id = project.id
JOIN secret ON secret.environment_id = environment.id
WHERE project.slug = {0} AND environment.slug = {0}"""
_AUDIT = """
INSERT INTO audit_record (id, created_at, action, outcome, identity_id, actor_kind, actor_subject,
  project_id, environment_id, request_id, reason, detail)
VALUES ({0}, {0}, {0}, 'success', {0}, 'user', {0}, {0}, {0}, {0}, {0}, {0})"""
_VERSION_COLUMNS = "secret_id, version, rev, envelope, kid, created_at, created_by"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def audit_row(
    audit_id: Any,
    standing: list[Row],
    subject: str,
    action: str,
    environment: Row,
    reason: str | None,
    detail: Any,
) -> Row:
    """The parameters of an audit record."""
    text = orjson.dumps(detail).decode()
    request_id = str(uuid_utils.uuid7())
    identity_id = standing[0][1]
    return audit_id, now_ms(), action, identity_id, subject, *environment[:2], request_id, reason, text


class Store(Protocol):
    """What the floor asks of a database; `standing` begins with the row of the caller."""

    def load_one(self, subject: str, slugs: tuple[str, str], key: str) -> tuple[list[Row], Row]: ...
    def load_all(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, list[Row]]: ...
    def begin_batch(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, dict[str, Row]]: ...
    def record(self, standing: list[Row], subject: str, action: str, *rest: Any) -> None: ...
    def finish_batch(self, standing: list[Row], subject: str, *rest: Any) -> None: ...


class SqliteStore:
    """Every statement commits by itself, but for those of a batch."""

    def __init__(self, url: str) -> None:
        self.connection = sqlite3.connect(
            url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("PRAGMA mmap_size=268435456")

    def _standing(self, subject: str) -> list[Row]:
        now = now_ms()
        return self.connection.execute(SNAPSHOT.format("?"), (subject, now, now, now)).fetchall()

    def load_one(self, subject: str, slugs: tuple[str, str], key: str) -> tuple[list[Row], Row]:
        standing = self._standing(subject)
        return standing, self.connection.execute(_ONE.format("?"), (*slugs, key)).fetchone()

    def load_all(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, list[Row]]:
        standing = self._standing(subject)
        environment = self.connection.execute(_ENVIRONMENT.format("?"), slugs).fetchone()
        return standing, environment, self.connection.execute(_ALL.format("?"), slugs).fetchall()

    def record(
        self, standing: list[Row], subject: str, action: str, project_id: Any, environment_id: Any, *rest: Any
    ) -> None:
        made = uuid_utils.uuid7().hex
        row = audit_row(made, standing, subject, action, (project_id, environment_id), *rest)
        self.connection.execute(_AUDIT.format("?"), row)

    def begin_batch(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, dict[str, Row]]:
        standing = self._standing(subject)
        self.connection.execute("BEGIN IMMEDIATE")
        environment = self.connection.execute(_ADVANCE.format("?"), (now_ms(), *slugs)).fetchone()
        rows = self.connection.execute(_KNOWN.format("?"), slugs).fetchall()
        return standing, environment, {row[0]: row[1:] for row in rows}

    def finish_batch(
        self, standing: list[Row], subject: str, environment: Row, versions: list[Row], now: int, detail: Any
    ) -> None:
        self.connection.executemany(
            f"INSERT INTO secret_version ({_VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            versions,
        )
        self.connection.executemany(
            "UPDATE secret SET version = ?, updated_at = ? WHERE id = ?",
            [(row[1], now, row[0]) for row in versions],
        )
        self.record(standing, subject, "secret.batch", *environment[:2], None, detail)
        self.connection.execute("COMMIT")


class PostgresqlStore:
    """Reads share a round trip; a record takes one; a batch takes three."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(
            url.replace("+psycopg", ""), autocommit=True, prepare_threshold=0, cursor_factory=psycopg.Cursor
        )

    def _execute(self, statement: str, parameters: Row | list[Any]) -> Any:
        return self.connection.execute(statement.format("%s"), parameters, binary=True)

    def _standing(self, subject: str) -> Any:
        now = now_ms()
        return self._execute(SNAPSHOT, (subject, now, now, now))

    def load_one(self, subject: str, slugs: tuple[str, str], key: str) -> tuple[list[Row], Row]:
        with self.connection.pipeline():
            standing, row = self._standing(subject), self._execute(_ONE, (*slugs, key))
            return standing.fetchall(), row.fetchone()

    def load_all(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, list[Row]]:
        with self.connection.pipeline():
            standing, environment = self._standing(subject), self._execute(_ENVIRONMENT, slugs)
            rows = self._execute(_ALL, slugs)
            return standing.fetchall(), environment.fetchone(), rows.fetchall()

    def record(
        self, standing: list[Row], subject: str, action: str, project_id: Any, environment_id: Any, *rest: Any
    ) -> None:
        made = uuid_utils.compat.uuid7()
        self._execute(_AUDIT, audit_row(made, standing, subject, action, (project_id, environment_id), *rest))

    def begin_batch(self, subject: str, slugs: tuple[str, str]) -> tuple[list[Row], Row, dict[str, Row]]:
        with self.connection.pipeline():
            standing = self._standing(subject)
            self.connection.execute("BEGIN")
            environment, known = self._execute(_ADVANCE, (now_ms(), *slugs)), self._execute(_KNOWN, slugs)
            found = standing.fetchall(), environment.fetchone(), known.fetchall()
        return found[0], found[1], {row[0]: row[1:] for row in found[2]}

    def finish_batch(
        self, standing: list[Row], subject: str, environment: Row, versions: list[Row], now: int, detail: Any
    ) -> None:
        with self.connection.cursor().copy(
            f"COPY secret_version ({_VERSION_COLUMNS}) FROM STDIN (FORMAT BINARY)"
        ) as copy:
            copy.set_types(["int8", "int8", "int8", "bytea", "varchar", "int8", "uuid"])
            for row in versions:
                copy.write_row(row)
        with self.connection.pipeline():
            self._execute(
                "UPDATE secret SET version = made.version, updated_at = %s"
                " FROM unnest(%s::int8[], %s::int8[]) AS made (id, version) WHERE secret.id = made.id",
                (now, [row[0] for row in versions], [row[1] for row in versions]),
            )
            self.record(standing, subject, "secret.batch", *environment[:2], None, detail)
            self.connection.execute("COMMIT")


STORES = {"sqlite": SqliteStore, "postgresql": PostgresqlStore}
