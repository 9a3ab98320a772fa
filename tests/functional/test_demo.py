"""The demo fills what `make run` serves, once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from service import MASTER_KEY

#: As `make run` and `make demo` do it, twice in one process: to start another takes as long as the demo.
CODE = """
import runpy, sqlite3
from alembic.config import main

main(["-c", "development.ini", "upgrade", "heads"])
for _ in range(2):
    runpy.run_module("demo", run_name="__main__")
    with sqlite3.connect(".dev/secretsvc.sqlite") as connection:
        print("records:", *connection.execute("SELECT count(*), max(id) FROM audit_record").fetchone())
"""


@pytest.mark.slow
def test_the_demo_is_made_once_and_is_what_it_says(here, tmp_path):
    shutil.copy(here / "development.ini", tmp_path)
    (tmp_path / "alembic").symlink_to(here / "alembic")
    (tmp_path / ".dev").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(here), "MASTER_KEY": MASTER_KEY}
    command = [sys.executable, "-W", "ignore", "-c", CODE, "development.ini"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    made, found = done.stdout.split("The demo is there already")
    assert "The demo is ready." in made
    assert "The demo is ready." not in found
    before, after = (re.findall(r"records: (\d+) (\S+)", told) for told in (made, found))
    assert before == after
    assert int(before[0][0]) > 100
