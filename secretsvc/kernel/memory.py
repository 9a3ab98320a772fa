"""What the process holds in memory, and what the C library keeps of it when it was freed."""

from __future__ import annotations

import ctypes
from pathlib import Path

MIB = 2**20
# Of glibc's malloc.h: the size from which on a block is the system's own to take back, and how much that is
# free at the end of an arena is kept.
_OPTIONS = {-3: MIB, -1: 4 * MIB}
_STATUS = Path("/proc/self/status")


def configure_malloc() -> None:
    """Has glibc's malloc give large blocks back when they are freed; a no-op with another C library.

    By itself it raises both bounds up to 32 and 64 MiB with the sizes that it meets, in one arena for each
    thread: after a few exports the process would keep half a gigabyte (decision 0026).
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        for option, size in _OPTIONS.items():
            set_option(option, size)


def anonymous_memory_bytes() -> int | None:
    """What the process holds of its own, in bytes; None where the system does not tell.

    Without mapped files: each connection to SQLite maps the database, the resident size counts that once for
    each of them, and the system has it once and may drop it.
    """
    try:
        status = _STATUS.read_text("ascii", errors="replace")
    except OSError:
        return None
    found = status.partition("RssAnon:")[2].split(maxsplit=1)
    return int(found[0]) * 1024 if found else None
