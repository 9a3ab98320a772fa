"""The files of an SQLite database: what we make is its owner's alone, what others may open is told."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from sqlalchemy.engine import URL, make_url
from sqlalchemy.util import asbool

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
#: What lies beside a database by SQLite's own rules; a new one of these gets the mode of the database.
BESIDE = ("-wal", "-shm", "-journal")
LOCK = "-lock"
#: What keeps a second migration waiting.
MIGRATING = "-migrating"

_OTHERS = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH
_making = threading.Lock()


def file_of(url: URL) -> str | None:
    """The path of an SQLite database; None for one that is in memory, or that no common file holds."""
    name = url.database
    if not name or name == ":memory:":
        return None
    if not (asbool(url.query.get("uri", False)) and name.startswith("file:")):
        return name
    path = unquote(urlsplit(name).path)
    elsewhere = url.query.get("mode") == "memory" or "vfs" in url.query or path in ("", ":memory:")
    return None if elsewhere else path


def make_private(path: str) -> None:
    """Makes an empty file of mode 0600 whatever the umask; one that is there is left as it is.

    Where none can be made, nothing happens: whoever opens it next says why.
    """
    # Closing a file drops the locks that SQLite has on it anywhere in this process: none before that.
    with _making:
        try:
            # Where a link leads nowhere, the file is made where it points to, as SQLite would.
            target = os.path.realpath(path)
            file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
        except OSError:
            return
        try:
            os.fchmod(file, PRIVATE)
        finally:
            os.close(file)


def open_private(path: str) -> int:
    """A descriptor to lock a file by, which is made private if it is not there. Raises `OSError`."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        make_private(path)
        return os.open(path, flags)


def open_to_others(url: str) -> Iterator[tuple[str, int]]:
    """The files of the database that group or others may read or write, each with its permission bits."""
    parts = make_url(url)
    path = file_of(parts) if parts.get_backend_name() == "sqlite" else None
    if path is None:
        return
    real = os.path.realpath(path)
    for name in (real, *(f"{real}{suffix}" for suffix in BESIDE), f"{path}{LOCK}", f"{path}{MIGRATING}"):
        try:
            mode = stat.S_IMODE(os.stat(name).st_mode)
        except OSError:
            continue
        if mode & _OTHERS:
            yield name, mode
