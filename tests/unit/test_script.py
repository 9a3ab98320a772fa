"""The console script at a terminal: its help, a reader that leaves, and Ctrl-C during the start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import click
import pytest
from built import python
from processes import ROOT

from secretsvc.commands import main

GROUPS = {"secretsvc-server": main, "secretsvc-server audit": main.commands["audit"]}
#: Sends this process SIGINT as soon as a module is looked for.
INTERRUPTING = (
    "import os, signal, sys\n"
    "class Interrupting:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name == 'MODULE': os.kill(os.getpid(), signal.SIGINT)\n"
    "sys.meta_path.insert(0, Interrupting())\n"
)


def run(code, *arguments, **options):
    """Run code in a Python of its own; its output."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False, **options)


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_cuts_no_summary_at_80_columns(name):
    group = GROUPS[name]
    shown = group.get_help(click.Context(group, info_name=name, terminal_width=78))
    summaries = shown.partition("Commands:")[2].splitlines()
    assert len(summaries) > 4
    assert not [line for line in summaries if line.endswith("...")]


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_script_quietly(tmp_path):
    (tmp_path / "no.ini").write_text("[app:main]\n")
    code = "from secretsvc.__main__ import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    done = run(code, "check", str(tmp_path / "no.ini"), stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_an_interrupt_while_the_script_loads_is_one_line():
    code = (
        INTERRUPTING.replace("MODULE", "secretsvc.commands") + "from secretsvc.__main__ import main; main()"
    )
    done = run(code, "--version", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "secretsvc-server: interrupted\n")


@pytest.mark.slow
def test_an_interrupt_while_a_server_starts_is_one_line_and_ends_it_by_the_signal():
    code = (
        INTERRUPTING.replace("MODULE", "secretsvc.registry")
        + "from pyramid.scripts.pserve import main; main()"
    )
    done = run(code, str(ROOT / "production.ini"), stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "interrupted: the server had not started\n")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.7", "3.8", "3.9", "3.10"])
def test_on_an_old_python_one_line_names_the_version_that_is_needed(version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version}")
    command = [interpreter, "-c", "import secretsvc.commands"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "secretsvc needs Python 3.11 or later\n")
