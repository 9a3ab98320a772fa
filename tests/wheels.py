"""The wheel as `make dist` makes it, from a copy of the source."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from processes import ROOT

#: What a build reads.
SOURCE = ("alembic", "constraints", "deploy", "secretsvc", "LICENSE", "Makefile", "README.md")
SOURCE += ("development.ini", "production.ini", "pyproject.toml", "setup.cfg", "setup.py")


def copy_source(folder: Path) -> Path:
    """A copy of the source in a new folder, in which a build may leave what it likes."""
    folder.mkdir()
    for name in SOURCE:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def make_dist(folder: Path) -> Path:
    """`make dist` in a copy of the source, by the environment of the tests; the folder of what it made."""
    venv = Path(sys.prefix)
    # That environment is complete as it is, whatever the times of the copied files.
    command = ["make", "dist", f"VENV={venv}", "-o", f"{venv}/run.done"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def wheel_in(folder: Path) -> Path:
    """The one wheel in a folder."""
    (wheel,) = folder.glob("*.whl")
    return wheel
