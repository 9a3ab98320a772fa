"""The floor's databases: the raw drivers, one connection, and as few round trips as there can be.

What the service found out is in here, too, or the floor would hide what it costs: nothing is read that is not
needed, PostgreSQL looks each version up instead of reading the history, and its arrays go over as texts.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Protocol

import orjson
import psycopg
import uuid_utils
import uuid_utils.compat

Row = tuple[Any, ...]
Slugs = tuple[str, str]

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
#: The current version of a secret, in the form in which each database looks it up.
JOINED = {
    "sqlite": "JOIN secret_version ON secret_id = secret.id AND secret_version.version = secret.version",
    "postgresql": """JOIN LATERAL (SELECT envelope, kid FROM secret_version
WHERE secret_id = secret.id AND version = secret.version OFFSET 0) AS found ON true""",
}
_CURRENT = """
FROM project JOIN environment ON project_id = project.id
JOIN secret ON secret.environment_id = environment.id {1}
WHERE project.slug = {0} AND environment.slug = {0} AND NOT deleted"""
_ONE = f"""
SELECT project.id, environment.id, secret.version, envelope {_CURRENT} AND key = {{0}}"""
_LIST = f"""
SELECT key, secret.version, envelope, secret.description, kid, secret.created_at, secret.updated_at
{_CURRENT} ORDER BY key"""
_VALUES = f"SELECT key, secret.version, envelope {_CURRENT} ORDER BY key"
_ADVANCE = """
UPDATE environment SET rev = rev + 1, updated_at = {0}
WHERE id = (SELECT environment.id FROM project JOIN environment ON project_id = project.id
  WHERE project.slug = {0} AND environment.slug = {0})
RETURNING project_id, id, rev"""
_KNOWN = """
SELECT key, secret.id, version FROM project JOIN environment ON project_id = project.id
JOIN secret ON secret.environment_id = environment.id
WHERE project.slug = {0} AND environment.slug = {0} AND key {2}"""
#: The condition that a key is among a parameter's.
AMONG = {"sqlite": "IN (SELECT value FROM json_each({0}))", "postgresql": "= ANY({0}::text[])"}
_AUDIT = """
INSERT INTO audit_record (id, created_at, action, outcome, identity_id, actor_kind, actor_subject,
  project_id, environment_id, request_id, reason, detail)
VALUES ({0}, {0}, {0}, 'success', {0}, 'user', {0}, {0}, {0}, {0}, {0}, {0})"""
_VERSION_COLUMNS = "secret_id, version, rev, envelope, kid, created_at, created_by"
_VERSION = f"""
INSERT INTO secret_version ({_VERSION_COLUMNS}) VALUES ({{0}}, {{0}}, {{0}}, {{0}}, {{0}}, {{0}}, {{0}})"""  # noqa: S608
_UPDATE = "UPDATE secret SET version = {0}, updated_at = {0} WHERE id = {0}"


class Texts(NamedTuple):
    """The statements as one driver takes them, made once."""

    snapshot: str
    environment: str
    one: str
    list: str
    values: str
    advance: str
    known: str
    audit: str
    version: str
    update: str


def texts(engine: str, marker: str) -> Texts:
    """The statements with the marker of a driver's parameters."""
    every = SNAPSHOT, _ENVIRONMENT, _ONE, _LIST, _VALUES, _ADVANCE, _KNOWN, _AUDIT, _VERSION, _UPDATE
    among = AMONG[engine].format(marker)
    return Texts(*(one.format(marker, JOINED[engine], among) for one in every))


SQLITE, POSTGRESQL = texts("sqlite", "?"), texts("postgresql", "%s")


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

    def load_one(self, subject: str, slugs: Slugs, key: str) -> tuple[list[Row], Row]: ...
    def load_rev(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row]: ...
    def load_list(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]: ...
    def load_values(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]: ...
    def begin_batch(
        self, subject: str, slugs: Slugs, keys: Collection[str]
    ) -> tuple[list[Row], Row, dict[str, Row]]: ...
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
        return self.connection.execute(SQLITE.snapshot, (subject, now, now, now)).fetchall()

    def load_one(self, subject: str, slugs: Slugs, key: str) -> tuple[list[Row], Row]:
        standing = self._standing(subject)
        return standing, self.connection.execute(SQLITE.one, (*slugs, key)).fetchone()

    def load_rev(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row]:
        standing = self._standing(subject)
        return standing, self.connection.execute(SQLITE.environment, slugs).fetchone()

    def load_list(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]:
        return *self.load_rev(subject, slugs), self.connection.execute(SQLITE.list, slugs).fetchall()

    def load_values(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]:
        return *self.load_rev(subject, slugs), self.connection.execute(SQLITE.values, slugs).fetchall()

    def record(
        self, standing: list[Row], subject: str, action: str, project_id: Any, environment_id: Any, *rest: Any
    ) -> None:
        made = uuid_utils.uuid7().hex
        row = audit_row(made, standing, subject, action, (project_id, environment_id), *rest)
        self.connection.execute(SQLITE.audit, row)

    def begin_batch(
        self, subject: str, slugs: Slugs, keys: Collection[str]
    ) -> tuple[list[Row], Row, dict[str, Row]]:
        standing = self._standing(subject)
        self.connection.execute("BEGIN IMMEDIATE")
        environment = self.connection.execute(SQLITE.advance, (now_ms(), *slugs)).fetchone()
        named = orjson.dumps([*keys]).decode()
        rows = self.connection.execute(SQLITE.known, (*slugs, named)).fetchall()
        return standing, environment, {row[0]: row[1:] for row in rows}

    def finish_batch(
        self, standing: list[Row], subject: str, environment: Row, versions: list[Row], now: int, detail: Any
    ) -> None:
        self.connection.executemany(SQLITE.version, versions)
        self.connection.executemany(SQLITE.update, [(row[1], now, row[0]) for row in versions])
        self.record(standing, subject, "secret.batch", *environment[:2], None, detail)
        self.connection.execute("COMMIT")


class PostgresqlStore:
    """Reads share a round trip; a record takes one; a batch takes three, a write of one key two."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(
            url.replace("+psycopg", ""), autocommit=True, prepare_threshold=0, cursor_factory=psycopg.Cursor
        )

    def _execute(self, statement: str, parameters: Row | list[Any]) -> Any:
        return self.connection.execute(statement, parameters, binary=True)

    def _standing(self, subject: str) -> Any:
        now = now_ms()
        return self._execute(POSTGRESQL.snapshot, (subject, now, now, now))

    def load_one(self, subject: str, slugs: Slugs, key: str) -> tuple[list[Row], Row]:
        with self.connection.pipeline():
            standing, row = self._standing(subject), self._execute(POSTGRESQL.one, (*slugs, key))
            return standing.fetchall(), row.fetchone()

    def load_rev(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row]:
        with self.connection.pipeline():
            standing, environment = self._standing(subject), self._execute(POSTGRESQL.environment, slugs)
            return standing.fetchall(), environment.fetchone()

    def load_list(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]:
        return self._load_all(subject, slugs, POSTGRESQL.list)

    def load_values(self, subject: str, slugs: Slugs) -> tuple[list[Row], Row, list[Row]]:
        return self._load_all(subject, slugs, POSTGRESQL.values)

    def _load_all(self, subject: str, slugs: Slugs, statement: str) -> tuple[list[Row], Row, list[Row]]:
        with self.connection.pipeline():
            standing, environment = self._standing(subject), self._execute(POSTGRESQL.environment, slugs)
            rows = self._execute(statement, slugs)
            return standing.fetchall(), environment.fetchone(), rows.fetchall()

    def record(
        self, standing: list[Row], subject: str, action: str, project_id: Any, environment_id: Any, *rest: Any
    ) -> None:
        made = uuid_utils.compat.uuid7()
        row = audit_row(made, standing, subject, action, (project_id, environment_id), *rest)
        self._execute(POSTGRESQL.audit, row)

    def begin_batch(
        self, subject: str, slugs: Slugs, keys: Collection[str]
    ) -> tuple[list[Row], Row, dict[str, Row]]:
        with self.connection.pipeline():
            standing = self._standing(subject)
            self.connection.execute("BEGIN")
            environment = self._execute(POSTGRESQL.advance, (now_ms(), *slugs))
            known = self._execute(POSTGRESQL.known, (*slugs, as_array(f'"{key}"' for key in keys)))
            found = standing.fetchall(), environment.fetchone(), known.fetchall()
        return found[0], found[1], {row[0]: row[1:] for row in found[2]}

    def finish_batch(
        self, standing: list[Row], subject: str, environment: Row, versions: list[Row], now: int, detail: Any
    ) -> None:
        if len(versions) > 1:
            self._copy(versions)
        with self.connection.pipeline():
            if len(versions) == 1:
                ((secret_id, version, *_),) = versions
                self._execute(POSTGRESQL.version, versions[0])
                self._execute(POSTGRESQL.update, (version, now, secret_id))
            else:
                ids, numbers = (as_array(map(str, column)) for column in [*zip(*versions, strict=True)][:2])
                self._execute(
                    "UPDATE secret SET version = made.version, updated_at = %s"
                    " FROM unnest(%s::int8[], %s::int8[]) AS made (id, version) WHERE secret.id = made.id",
                    (now, ids, numbers),
                )
            self.record(standing, subject, "secret.batch", *environment[:2], None, detail)
            self.connection.execute("COMMIT")

    def _copy(self, versions: list[Row]) -> None:
        statement = f"COPY secret_version ({_VERSION_COLUMNS}) FROM STDIN (FORMAT BINARY)"
        with self.connection.cursor().copy(statement) as copy:
            copy.set_types(["int8", "int8", "int8", "bytea", "varchar", "int8", "uuid"])
            for row in versions:
                copy.write_row(row)


def as_array(values: Iterable[str]) -> str:
    """As PostgreSQL reads one."""
    return f"{{{','.join(values)}}}"


STORES = {"sqlite": SqliteStore, "postgresql": PostgresqlStore}
