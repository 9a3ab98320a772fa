"""On a terminal: colour, and nothing of a value that the terminal would obey."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from built import single_file
from hostile import Hostile, refused, told
from waiting import PATIENCE

VALUE = "one\n\x1b]0;owned\x07two\x9b31m"


@pytest.fixture
def terminal(home, at, tmp_path):
    """Runs the client with a terminal as its output; what arrives there."""
    file = single_file(tmp_path / "dist")

    def run(*arguments, server, **variables):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", **at(server), **variables}
        subprocess.run(
            [sys.executable, str(file), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            check=False,
            timeout=PATIENCE,
        )
        os.close(theirs)
        arrived = b""
        try:
            while piece := os.read(ours, 65536):
                arrived += piece
        except OSError:
            pass
        os.close(ours)
        return arrived.decode()

    return run


def test_a_value_is_shown_without_what_a_terminal_obeys(terminal):
    with Hostile(told(200, {"key": "A", "value": VALUE})) as server:
        assert terminal("get", "A", server=server) == "one\r\n\\x1b]0;owned\\x07two\\x9b31m\r\n"


def test_an_export_is_shown_without_what_a_terminal_obeys(terminal):
    with Hostile(told(200, {"rev": 1, "secrets": {"A": VALUE}})) as server:
        shown = terminal("export", server=server)
    assert "\x1b" not in shown
    assert "\x9b" not in shown


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["usual", "no color", "dumb"],
)
def test_errors_and_heads_are_coloured_where_that_is_wanted(terminal, variables, is_coloured):
    with Hostile(refused(403, "FORBIDDEN"), told(200, {"items": []})) as server:
        assert ("\x1b[31m" in terminal("list", server=server, **variables)) is is_coloured
        assert ("\x1b[1m" in terminal("list", server=server, **variables)) is is_coloured
