"""Files that are replaced as a whole, by default readable by their owner alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from secretsvc_client import output
from secretsvc_client.errors import Failure
from secretsvc_client.grammar import printable


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace the file by one of that mode, by default readable by its owner alone; raises `Failure`."""
    draft = None
    try:
        handle, draft = tempfile.mkstemp(prefix=".secretsvc-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        if draft is not None:
            with suppress(OSError):
                os.unlink(draft)
        raise Failure(f"{printable(path)} cannot be written: {error.strerror}") from None


def memory_folder(bases: Sequence[str | None] = ()) -> Path:
    """Make a private folder in memory; on a disk, with a message, if the system has no such place."""
    usual = (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm")  # noqa: S108 - mkdtemp makes a private one
    for base in bases or usual:
        if base and os.path.isabs(base) and os.access(base, os.W_OK | os.X_OK):
            with suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="secretsvc-", dir=base))
    made = Path(tempfile.mkdtemp(prefix="secretsvc-"))
    output.tell(f"no folder in memory here: while you edit, the values are on disk in {printable(made)}")
    return made
