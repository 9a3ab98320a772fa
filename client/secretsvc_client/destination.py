"""The file, pipe or device that a user named for output."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from secretsvc_client.errors import Failure, WrongUse
from secretsvc_client.grammar import printable

#: Errors of a rename that leave writing in place: a bind mount, a folder or an owner that cannot be changed.
_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS, errno.EXDEV)
_MODE = 0o600


def checked_mode(text: str | None) -> int | None:
    """Return the permissions that `--mode` names; raise `WrongUse`."""
    if text is None:
        return None
    if not 1 <= len(text) <= 4 or any(digit not in "01234567" for digit in text) or int(text, 8) > 0o777:
        raise WrongUse("--mode takes permissions in octal, from 0000 to 0777")
    return int(text, 8)


def write_to(path: Path, content: bytes, mode: int | None = None) -> str:
    """Write the content; return a message about a regular file, an empty one about others.

    A regular file is replaced as a whole if possible and keeps its owner, and its permissions unless `mode`
    is given. A pipe or a device is written into. Links are followed. Raises `Failure`, and `WrongUse` for a
    file, link or pipe of another user in a folder that everybody can write.
    """
    try:
        found = _status(path)
        _refuse_planted(path)
        if found is not None and not stat.S_ISREG(found.st_mode):
            if mode is not None:
                raise WrongUse(f"{printable(path)} is not a regular file: --mode cannot change it")
            _stream(path, content)
            return ""
        if not _replace(path, content, found, mode):
            _overwrite(path, content, mode)
        return _message(path)
    except OSError as error:
        raise Failure(f"{printable(path)} cannot be written: {error.strerror}") from None
    except ValueError:
        raise WrongUse(f"{printable(path)} cannot be the name of a file") from None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _refuse_planted(path: Path) -> None:
    """Raise `WrongUse` for a file, link or pipe that another user could have put there to get the content."""
    if os.name != "posix":
        return
    for one in {path, Path(os.path.realpath(path))}:
        folder = one.parent.stat()
        try:
            owner = one.lstat().st_uid
        except FileNotFoundError:
            continue
        if folder.st_mode & 0o002 and owner not in (os.geteuid(), folder.st_uid):
            raise WrongUse(
                f"{printable(one)} belongs to another user, and everybody can write its folder",
                "Name a file that is not there, or a folder of your own.",
            )


def _stream(path: Path, content: bytes) -> None:
    # O_CREAT creates nothing here: with it Linux refuses another user's pipe in a shared folder.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOCTTY", 0), _MODE), "wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes, found: os.stat_result | None, mode: int | None) -> bool:
    """Rename a new file over the old one; return whether the system allows it."""
    target = os.path.realpath(path)
    if found is not None and not _is_same(target, found):
        # Reached by a descriptor, such as /dev/stdout of a removed file.
        return False
    draft = None
    try:
        handle, draft = tempfile.mkstemp(prefix=".secretsvc-", dir=os.path.dirname(target))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            _take_over(file.fileno(), found, mode)
            os.fsync(file.fileno())
        os.replace(draft, target)
        draft = None
    except OSError as error:
        if found is None or error.errno not in _NO_RENAME:
            raise
        return False
    finally:
        if draft is not None:
            with suppress(OSError):
                os.unlink(draft)
    return True


def _is_same(target: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(target), found)
    except OSError:
        return False


def _take_over(handle: int, found: os.stat_result | None, mode: int | None) -> None:
    """Give the new file the owner, and unless `mode` is given the permissions, of the old one."""
    if os.name != "posix":
        return
    made = os.fstat(handle)
    if found is not None and (found.st_uid, found.st_gid) != (made.st_uid, made.st_gid):
        os.fchown(handle, found.st_uid, found.st_gid)
    kept = _MODE if found is None else stat.S_IMODE(found.st_mode) & 0o777
    os.fchmod(handle, kept if mode is None else mode)


def _overwrite(path: Path, content: bytes, mode: int | None) -> None:
    """Write over a file that cannot be replaced; on a full disk it stays as it was."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, _MODE)
    with os.fdopen(handle, "r+b", buffering=0):
        length = os.fstat(handle).st_size
        if mode is not None:
            os.fchmod(handle, mode)
        try:
            # Reserves the space before a byte changes; macOS has no such call.
            if content and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, len(content))
        except OSError as error:
            os.ftruncate(handle, length)
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV):
                raise
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.ftruncate(handle, len(content))
        os.fsync(handle)


def _message(path: Path) -> str:
    found = path.stat()
    is_private = not found.st_mode & 0o077 and found.st_uid == getattr(os, "geteuid", lambda: found.st_uid)()
    reader = "only you can read it" if is_private else f"its mode is {stat.S_IMODE(found.st_mode):04o}"
    return f"{printable(path)} is written; {reader}"
