"""A file to which sealed records are appended while another program rotates it.

Two files are kept beside it. `.lock` keeps a second tail off, also while the file itself is replaced.
`.position` has the index of the next record, for a start after a rotation that left the file empty. While
records are being written it also has the index after the last of them: a process that was killed by then may
have written some to a file that was rotated since, and the last lines of the rotated files tell how many.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import orjson

from secretsvc.sealedlog.retention.jsonl import last_index
from secretsvc.sealedlog.retention.private_files import (
    make_folder,
    open_for_appending,
    replace_file,
    sync_folder,
)

POSITION, LOCK = ".position", ".lock"
_CHUNK_BYTES = 65_536


@contextmanager
def tail_file(path: Path, first: int | None) -> Iterator[TailFile]:
    """Open a tail for one process at a time; `first` is where a new one begins, None for the oldest record.

    Raises OSError, and ValueError if another process has it open or a file beside it has other content.
    """
    make_folder(path.parent)
    with os.fdopen(open_for_appending(_beside(path, LOCK)), "ab+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError("another tail writes to this file") from None
        made = TailFile(path, first)
        try:
            made.recover()
            yield made
        finally:
            made.close()


class TailFile:
    """The open file; `following` is the index of the next record, None for the oldest there is."""

    def __init__(self, path: Path, first: int | None) -> None:
        self.path = path
        self._is_missing = False
        self._file = self._open()
        self.following = first

    def recover(self) -> None:
        """Find the next index, and cut off a torn line. Raises ValueError if the files are not a tail's."""
        self.following = max(self._ends(), default=self.following)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def reopen(self) -> None:
        """Open the file again if it was renamed or removed. Raises ValueError if the new one is no tail.

        A missing file is created at the second call: logrotate renames the file and creates the next one
        some time later, and fails if it exists by then. A file that was truncated needs nothing: appending
        goes on at its new end.
        """
        with suppress(FileNotFoundError):
            if os.path.samestat(self.path.stat(), os.fstat(self._file.fileno())):
                self._is_missing = False
                return
        if not self.path.exists() and not self._is_missing:
            self._is_missing = True
            return
        self._is_missing = False
        self.close()
        self._file = self._open()
        last = last_index(self._file)
        if last is not None:
            self.following = max(self.following or 0, last + 1)

    def append(self, indexes: range, lines: Iterable[tuple[int, bytes]]) -> None:
        """Write the lines of these indexes, fsync them, then the position. Raises OSError."""
        if not indexes:
            return
        self._note(indexes.start, indexes.stop)
        following, chunk = indexes.start, bytearray()
        for index, line in lines:
            following = index + 1
            chunk += line
            if len(chunk) >= _CHUNK_BYTES:
                self.write(bytes(chunk))
                chunk = bytearray()
        self.write(bytes(chunk))
        os.fsync(self._file.fileno())
        self._note(following, following)
        self.following = following

    def write(self, lines: bytes) -> None:
        """Write whole lines by one call of the system, so that a truncation falls between two of them."""
        rest = memoryview(lines)
        while rest:
            rest = rest[self._file.write(rest) :]

    def _open(self) -> BinaryIO:
        return os.fdopen(open_for_appending(self.path), "ab+", buffering=0)

    def _note(self, following: int, until: int) -> None:
        position = {"next": following, "until": until}
        replace_file(_beside(self.path, POSITION), orjson.dumps(position) + b"\n")
        sync_folder(self.path.parent)

    def _ends(self) -> Iterator[int]:
        """The index after the last record, by each file that knows one; cuts off torn lines."""
        last = last_index(self._file)
        if last is not None:
            yield last + 1
        position = _read(_beside(self.path, POSITION))
        if position is None:
            return
        following, until = position
        yield following
        if following < until:
            for path in self._rotated():
                # Another log that somebody put there has other indexes, or other lines.
                with suppress(OSError, ValueError), path.open("rb+") as rotated:
                    last = last_index(rotated)
                    if last is not None and following <= last < until:
                        yield last + 1

    def _rotated(self) -> Iterator[Path]:
        """Yield the files that rotation may have made of this one: it adds to the name (`.1`, `-20260131`).

        A file with a lock of its own is another tail's.
        """
        kept = {_beside(self.path, one).name for one in (POSITION, LOCK)}
        for path in self.path.parent.iterdir():
            begins = path.name.startswith((f"{self.path.name}.", f"{self.path.name}-"))
            is_tail = _beside(path, LOCK).exists()
            if begins and path.name not in kept and path.is_file() and not is_tail:
                yield path


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _read(path: Path) -> tuple[int, int] | None:
    """The next index and the one to which a batch was being written; None without a position file."""
    try:
        found = orjson.loads(path.read_bytes())
        position = (int(found["next"]), int(found["until"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: it holds no position; remove it to go on behind the tail's file") from None
    return position
