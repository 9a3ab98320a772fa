"""The blocks of a page that are to be pasted, those marked `bash`; what is only shown has another mark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from postgresql_server import PROGRAMS
from processes import ROOT
from sqlalchemy.engine import make_url

SECONDS = 600
#: A dump is made by programs that are at least as new as the server.
NEWEST = max(PROGRAMS.parent.parent.glob("pginstall*/bin"), key=lambda path: path.parent.name)


def section(page: str, heading: str) -> str:
    """The text of a page below one heading, up to the next of any depth."""
    found = re.search(rf"(?ms)^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", _without_comments(page))
    assert found is not None, heading
    return found[1]


def blocks(page: str, heading: str, language: str = "bash") -> list[str]:
    """What a section of a page shows in a language."""
    return re.findall(rf"```{language}\n(.*?)```", section(page, heading), re.DOTALL)


def pasted(script: str, folder: Path, environment: dict[str, str], programs: Path | None = None) -> str:
    """What a shell says that is given a script, in a folder. It must succeed.

    Our command is that of the package under test, unless `programs` is a folder that has another.
    """
    path = f"{programs or _programs(folder)}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{script}"],
        cwd=folder,
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reached(script: str, url: str, programs: Path = NEWEST) -> str:
    """A script whose programs of PostgreSQL, and their database, are those of the tests."""
    parts = make_url(url)
    told = parts.get_dialect()().create_connect_args(parts)[1]
    conninfo = " ".join(f"{name}={told[name]}" for name in sorted(told) if told[name])
    script = re.sub(r"--username=\w+ ", "", script)
    script = re.sub(r'--dbname="[^"]*"', f'--dbname="{conninfo}"', script)
    return re.sub("(?m)^pg_", f"{programs}/pg_", script)


def _without_comments(page: str) -> str:
    """A page whose lines in blocks cannot be taken for headings."""
    return re.sub(r"(?ms)^```.*?^```$", lambda block: re.sub(r"(?m)^#", " #", block[0]), page)


def _programs(folder: Path) -> Path:
    """A folder with `secretsvc-server`, of the package under test."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    script = programs / "secretsvc-server"
    code = "from secretsvc.commands import main; main(prog_name='secretsvc-server')"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -W ignore -c "{code}" "$@"\n')
    script.chmod(0o755)
    return programs
