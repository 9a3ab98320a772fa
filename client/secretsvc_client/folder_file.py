"""`.secretsvc.toml`: the project and the environment of a folder (contract 16.7).

The file counts if it belongs to the user or to root and nobody else can write it: another user must not
choose which secrets your command gets.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from secretsvc_client.config_files import check_names, parse, read_limited
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import checked_slug, printable

FOLDER_FILE = ".secretsvc.toml"
_NAMES = {"project", "environment"}
_INSTEAD = "or name both by --project and --environment, or SECRETSVC_PROJECT and SECRETSVC_ENVIRONMENT"


class FolderFile(NamedTuple):
    """The nearest `.secretsvc.toml`: its names, or why it is not trusted and what to do."""

    path: Path | None = None
    project: str | None = None
    environment: str | None = None
    #: The message and the hint of the failure.
    distrust: tuple[str, str] | None = None
    #: A file of the user's own that does not count, for everybody can write its folder.
    skipped: Path | None = None


def find_folder_file(folder: Path, home: Path | None) -> FolderFile:
    """Return the nearest file; raises `WrongUse` where a trusted one says what it must not."""
    skipped = None
    for candidate in _folders(folder, home):
        path = candidate / FOLDER_FILE
        try:
            state = path.lstat()
        except FileNotFoundError:
            continue
        except OSError:
            # Without access to the folder it is unknown whether it has a file.
            break
        if is_open_to_everybody(candidate):
            skipped = skipped or (path if _belongs_to_us(state) else None)
            continue
        return _read(path, state)._replace(skipped=skipped)
    return FolderFile(skipped=skipped)


def is_open_to_everybody(folder: Path) -> bool:
    """Whether every user can put files into the folder, as into `/tmp`; never on Windows."""
    return sys.platform != "win32" and bool(folder.stat().st_mode & stat.S_IWOTH)


def _folders(folder: Path, home: Path | None) -> Iterator[Path]:
    """The folder and those above it, up to the home folder or the top of the mount."""
    with suppress(OSError):
        here = folder.resolve()
        stop = home.resolve() if home else None
        mount = _mount_of(here)
        for one in (here, *here.parents):
            if _mount_of(one) != mount:
                return
            yield one
            if one == stop:
                return


def _mount_of(folder: Path) -> tuple[int, str]:
    """The device and, on Linux, the number of the mount: a bind mount has the device of its source."""
    device = folder.stat().st_dev
    if not sys.platform.startswith("linux"):
        return device, ""
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with open(f"/proc/self/fdinfo/{handle}") as file:
                number = next((line for line in file if line.startswith("mnt_id")), "")
        finally:
            os.close(handle)
    except OSError:
        # Without /proc the device has to do.
        number = ""
    return device, number


def _read(path: Path, state: os.stat_result) -> FolderFile:
    """Judge the link and what was opened, not what a name leads to later."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            distrust = _distrust_of(path, state, os.fstat(file.fileno()))
            if distrust:
                return distrust
            raw = read_limited(file, path)
    except OSError as error:
        return _distrusted(path, f"cannot be read: {error.strerror}", "Make it readable to you,")
    found = parse(raw, path)
    check_names(found, _NAMES, path)
    texts = {name: value for name, value in found.items() if isinstance(value, str)}
    if texts.keys() != found.keys():
        raise WrongUse(f"project and environment in {printable(path)} must be texts")
    slugs = {name: checked_slug(value, name) for name, value in texts.items()}
    return FolderFile(path, slugs.get("project"), slugs.get("environment"))


def _distrust_of(path: Path, link: os.stat_result, opened: os.stat_result) -> FolderFile | None:
    if not stat.S_ISREG(opened.st_mode):
        return _distrusted(path, "is not a regular file", "Remove it,")
    for one in (link, opened):
        if not _belongs_to_us(one):
            problem = f"belongs to another user (uid {one.st_uid})"
            return _distrusted(path, problem, "Read it and give it to yourself with chown,")
    if sys.platform != "win32" and opened.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return _distrusted(path, "can be written by others", "Read it and run chmod go-w on it,")
    return None


def _open_at_once(path: str, flags: int) -> int:
    """Open a named pipe without waiting for its writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _distrusted(path: Path, problem: str, remedy: str) -> FolderFile:
    return FolderFile(
        path, distrust=(f"{printable(path)} is not trusted: it {problem}", f"{remedy} {_INSTEAD}.")
    )


def _belongs_to_us(state: os.stat_result) -> bool:
    return sys.platform == "win32" or state.st_uid in (0, os.geteuid())
