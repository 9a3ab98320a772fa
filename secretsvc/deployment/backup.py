"""A backup of the database into one file, while the service writes; on PostgreSQL, what to run for one."""

from __future__ import annotations

import errno
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL, make_url

from secretsvc.db.sqlite_files import BESIDE, file_of
from secretsvc.db.sqlite_write_lock import BUSY_TIMEOUT_SECONDS

# A schema of an older release has no signing key yet.
_SIGNED = "SELECT count(*) FROM sqlite_master WHERE name = 'audit_signer'"
_SIGNER = "SELECT kid FROM audit_signer"
_KIDS = "SELECT kid, count(*) FROM secret_version WHERE kid IS NOT NULL GROUP BY kid ORDER BY kid"


class BackupRefused(Exception):
    """There is no backup, for the reason that it says."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds: its size in bytes, the schema's revisions, and the envelopes under each kid.

    `signer` is the kid of the master key that the log's signing key is under, if there is one.
    """

    size: int
    schema: tuple[str, ...]
    envelopes: dict[str, int]
    signer: str | None


def back_up(url: str, target: Path) -> Backup:
    """Copies the SQLite database of an SQLAlchemy URL as it is at one moment into a new file of mode 0600.

    The file has its name once it is whole, checked and on disk. Raises `BackupRefused`, and `OSError` where
    it cannot be written, or is there already.
    """
    parts = make_url(url)
    if parts.get_backend_name() != "sqlite":
        raise BackupRefused(
            f"PostgreSQL makes its own backups; nothing was written. {_advice(parts, target)}"
        )
    source = file_of(parts)
    if source is None:
        raise BackupRefused("the database is no file that could be backed up")
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "it is there already, and is left as it is", str(target))
    with _unnamed(target) as partial:
        try:
            found = _copied(Path(source), partial)
        except sqlite3.Error as error:
            raise BackupRefused(f"SQLite: {error}") from None
        _name(partial, target)
    return found


@contextmanager
def _unnamed(target: Path) -> Iterator[Path]:
    """A private file beside the target, which is gone afterwards with what SQLite put beside it."""
    handle, name = tempfile.mkstemp(".partial", f".{target.name}.", target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
    finally:
        for suffix in ("", *BESIDE):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _copied(source: Path, partial: Path) -> Backup:
    with closing(_opened(source)) as live, closing(sqlite3.connect(partial)) as copy:
        # In one step: one that is made in several begins anew with each write of another process. Writers
        # go on meanwhile, for the database is in WAL mode.
        live.backup(copy, pages=-1)
        # A file by itself, which can be read where nothing can be written beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        _check(copy)
        schema = tuple(row[0] for row in copy.execute("SELECT version_num FROM alembic_version ORDER BY 1"))
        signed = copy.execute(_SIGNED).fetchone()[0] and copy.execute(_SIGNER).fetchone()
        envelopes = dict(copy.execute(_KIDS).fetchall())
        return Backup(partial.stat().st_size, schema, envelopes, signed[0] if signed else None)


def _opened(source: Path) -> sqlite3.Connection:
    """The database, which is not made where it is not there."""
    if not source.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    return sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", timeout=BUSY_TIMEOUT_SECONDS, uri=True)


def _check(copy: sqlite3.Connection) -> None:
    (first,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if first != "ok":
        raise BackupRefused("the database is damaged, and so would be its backup: restore an older one")


def _name(partial: Path, target: Path) -> None:
    """Gives the file its name, durably. Raises `OSError`, also where somebody else was first."""
    _flush(partial)
    try:
        # Unlike a renaming, which would replace what somebody else has put there meanwhile.
        os.link(partial, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _advice(parts: URL, target: Path) -> str:
    """The command that makes one, for the role that owns the tables; without a password."""
    told = parts.get_dialect()().create_connect_args(parts)[1]
    hidden = ("user", "password", "options", "application_name")
    known = {name: told[name] for name in sorted(told) if name not in hidden}
    dsn, whole = shlex.quote(make_conninfo(**known)), shlex.quote(str(target))
    partial = shlex.quote(f"{target}.partial")
    return (
        "As the role that owns the tables, run:\n"
        f"  umask 077; pg_dump --format=custom --username=secretsvc_owner --dbname={dsn} --file={partial}"
        f" && mv -n {partial} {whole}"
    )
