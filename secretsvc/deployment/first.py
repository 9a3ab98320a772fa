"""The first files of a deployment: an ini file made from the sample, and a master key beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from secretsvc.db.files import PRIVATE
from secretsvc.deployment.shipped import is_inside, shipped
from secretsvc.kernel.crypto import generate_master_key

INI, KEY = "production.ini", "master-key"
_KEY_FROM_FILE = ("# secretsvc.key_provider = file\n", "# secretsvc.master_key_file = ")


def write_first_files(directory: Path) -> tuple[Path, Path]:
    """The ini file and the key file, in a folder that is made if it is not there; all their owner's alone.

    Nothing is ever overwritten: where one of them is there, neither is written. Raises `OSError`.
    """
    ini, key = directory / INI, directory / KEY
    for path in (ini, key):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "it is there already, and is left as it is", str(path))
    text = first_ini()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(key, f"{generate_master_key()}\n")
    _write(ini, text)
    return ini, key


def first_ini() -> str:
    """The sample, with the key in a file beside it, and the migrations where this installation has them."""
    text = shipped(INI).read_text("utf-8")
    for line in _KEY_FROM_FILE:
        text = text.replace(line, line.removeprefix("# "))
    place = "secretsvc:shipped/alembic" if is_inside() else str(shipped("alembic")).replace("%", "%%")
    return text.replace("%(here)s/alembic", place)


def _write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    with open(file, "w", encoding="utf-8") as stream:
        os.fchmod(file, PRIVATE)
        stream.write(text)
