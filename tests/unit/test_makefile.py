"""What `make` says on a machine that lacks something, by the Makefile alone in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest
from processes import ROOT

pytestmark = pytest.mark.slow

#: A Python like Debian's without `python3-venv`: it leaves half of an environment behind.
WITHOUT_VENV = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin" && touch "$3/bin/python"
exit 1
"""


@pytest.fixture
def make(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)

    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        return subprocess.run(
            ["make", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_an_environment_that_could_not_be_made_is_removed_and_the_package_is_named(make, tmp_path):
    python = tmp_path / "python"
    python.write_text(WITHOUT_VENV)
    python.chmod(0o755)
    for _ in range(2):
        done = make(f"PYTHON={python}", ".venv/bin/python")
        assert "apt install python3-venv" in done.stdout
        assert done.returncode == 2
        assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["4", "6"]
)
def test_a_port_in_use_is_one_line_before_anything_else(make, tmp_path, family, host):
    made = [f"{sys.prefix}/run.done", ".dev/master-key"]
    with socket.create_server((host, 0), family=family) as taken:
        listen = f"[{host}]" if ":" in host else host
        listen += f":{taken.getsockname()[1]}"
        done = make("run", f"LISTEN={listen}", f"VENV={sys.prefix}", *(f"-o{one}" for one in made))
    told = f"cannot listen on {listen}: is it in use? For another port: make run LISTEN=127.0.0.1:7000\n"
    assert (done.returncode, done.stdout) == (2, told)


def test_the_help_names_the_setting_of_the_address(make):
    assert "LISTEN=" in make("help").stdout
