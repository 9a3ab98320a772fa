"""The single file, and the Pythons of this machine that it must run on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from build_file import build

CLIENT = Path(__file__).parent.parent
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


def single_file(folder: Path) -> Path:
    """Makes the file there, as `make client` does; with tomli where that has been fetched."""
    target = folder / "secretsvc.pyz"
    build(target, [CLIENT, CLIENT / "build" / "carried"])
    return target


def python(version: str) -> str | None:
    """The path of a Python of this version, the running one among them; None where there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    named = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    others = sorted(Path(named).glob(f"versions/{version}.*/bin/python"))
    for candidate in [shutil.which(f"python{version}"), *map(str, others)]:
        if candidate is None:
            continue
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return candidate
    return None
