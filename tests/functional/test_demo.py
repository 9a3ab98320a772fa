"""The demo fills what `make run` serves, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from service import MASTER_KEY


def run(here: Path, directory: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(here), "MASTER_KEY": MASTER_KEY}
    command = [sys.executable, "-W", "ignore", "-m", *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_demo_is_made_once_and_is_what_it_says(here, tmp_path):
    shutil.copy(here / "development.ini", tmp_path)
    (tmp_path / "alembic").symlink_to(here / "alembic")
    (tmp_path / ".dev").mkdir()
    run(here, tmp_path, "alembic", "-c", "development.ini", "upgrade", "head")
    assert "The demo is ready." in run(here, tmp_path, "demo", "development.ini")
    before = (tmp_path / ".dev" / "secretsvc.sqlite").stat().st_size
    assert "The demo is there already" in run(here, tmp_path, "demo", "development.ini")
    assert (tmp_path / ".dev" / "secretsvc.sqlite").stat().st_size == before
