"""Files of settings: of bounded size, and the user's own."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import printable

#: Bytes of a file of settings.
LONGEST = 65_536


def read_limited(file: BinaryIO, path: Path) -> bytes:
    """Return the whole content; raises `WrongUse` where it is too long or cannot be read."""
    try:
        raw = file.read(LONGEST + 1)
    except OSError as error:
        raise WrongUse(f"{printable(path)} cannot be read: {error.strerror}") from None
    if len(raw) > LONGEST:
        raise WrongUse(f"{printable(path)} is too long for settings")
    return raw


def read_own(path: Path) -> bytes | None:
    """Return what a file of the user's configuration holds, None without one.

    Raises `WrongUse` where it belongs to another user or others can write it: it says where a credential is.
    """
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            if sys.platform != "win32" and state.st_uid not in (0, os.geteuid()):
                raise WrongUse(
                    f"{printable(path)} belongs to another user (uid {state.st_uid})",
                    "Run the command as that user, or set HOME to your own home folder (sudo -H).",
                )
            if sys.platform != "win32" and state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise WrongUse(
                    f"{printable(path)} can be written by others", f"Run: chmod 600 {printable(path)}"
                )
            return read_limited(file, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WrongUse(f"{printable(path)} cannot be read: {error.strerror}") from None


def parse(raw: bytes, path: Path) -> dict[str, object]:
    """Return the tables of a file; raises `WrongUse` where it is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: dict[str, object] = tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise WrongUse(f"{printable(path)} is not TOML") from None
    return found


def check_names(found: Mapping[str, object], allowed: set[str], path: Path) -> None:
    """Raise `WrongUse` for a name that is not allowed in the file."""
    for name in found:
        if name not in allowed:
            raise WrongUse(
                f"{printable(path)} must not say {printable(name)!r}",
                f"It may say {', '.join(sorted(allowed))}, and nothing else.",
            )
