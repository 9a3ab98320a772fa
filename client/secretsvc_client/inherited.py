"""The environment that the client was started with, for its command."""

from __future__ import annotations

import os
from contextlib import suppress


def environment() -> dict[str, str]:
    """Return the variables that the client was started with.

    In the locale `C`, Python sets `LC_CTYPE` in its own environment. On Linux that is undone.
    """
    found = dict(os.environ)
    with suppress(OSError), open("/proc/self/environ", "rb") as file:
        started = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        value = started.get(b"LC_CTYPE")
        if value is not None:
            found["LC_CTYPE"] = os.fsdecode(value)
        elif found.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8"):
            del found["LC_CTYPE"]
    return found
