"""Files of the audit log outside the database, readable by their owner alone (contract 17.6)."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def make_folder(folder: Path) -> None:
    """Create a folder and the missing ones above it, each with mode 0700. Raises OSError."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        # Another process may create it at the same time.
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)


def open_for_appending(path: Path) -> int:
    """Open a file to read it and append to it; a new one has mode 0600. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)


def replace_file(target: Path, content: bytes) -> None:
    """Write a file atomically, with the mode of the one it replaces or 0600; `sync_folder` keeps its name.

    Raises OSError with the path of `target`, and then leaves what was there.
    """
    # Processes of two containers that write to one folder often have the same process id.
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(file, "wb") as opened:
            os.fchmod(file, _mode_for(target))
            opened.write(content)
            opened.flush()
            os.fsync(file)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(target)) from None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _mode_for(target: Path) -> int:
    with suppress(FileNotFoundError):
        found = target.lstat()
        if stat.S_ISREG(found.st_mode):
            return found.st_mode & 0o777
    return FILE_MODE
