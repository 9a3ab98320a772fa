"""The prompt of `set` on a real terminal: the value that was pasted is stored, or nothing is written."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from hostile import Hostile, told
from waiting import PATIENCE

CLIENT = Path(__file__).parents[2]
WRITTEN = told(200, {"rev": 1, "changes": [{"kind": "added", "key": "A", "version": 1}]})
LINES = b"-----BEGIN-----\nabc\n-----END-----\n"


class Session:
    """A client on a terminal of its own, to type into."""

    def __init__(self, environment: dict[str, str], *command: str) -> None:
        self.ours, self._theirs = pty.openpty()
        self.modes = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            command or (sys.executable, "-m", "secretsvc_client", "set", "A"),
            env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(CLIENT), **environment},
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
        )
        self.shown = b""

    def wait_for(self, text: bytes) -> None:
        """Read until the terminal shows the text; drop what it showed so far."""
        while text not in self.shown:
            self.shown += os.read(self.ours, 65_536)
        self.shown = self.shown.partition(text)[2]

    def type(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.ours, data[:1000]) :]

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(PATIENCE)
        os.set_blocking(self.ours, False)
        with suppress(BlockingIOError):
            self.shown += os.read(self.ours, 65_536)
        assert termios.tcgetattr(self._theirs)[:4] == self.modes[:4]
        os.close(self._theirs)
        os.close(self.ours)
        return code


def bracketed(data: bytes) -> bytes:
    """A paste as terminals send it, with CR for a line end."""
    return b"\x1b[200~" + data.replace(b"\n", b"\r") + b"\x1b[201~"


@pytest.fixture
def enter(home, at):
    """Types an input at both prompts; returns exit code, stored values, and what the terminal showed."""

    def run(first: bytes, second: bytes | None = None):
        with Hostile(WRITTEN) as server:
            session = Session(at(server))
            session.wait_for(b"value (not shown): ")
            session.type(first)
            if second is not None:
                session.wait_for(b"once more: ")
                session.type(second)
            code = session.end()
            stored = [
                json.loads(request.partition(b"\r\n\r\n")[2])["set"]["A"] for request in server.requests
            ]
        return code, stored, session.shown.decode()

    return run


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (b"x" * 5000 + b"\r", "x" * 5000),
        (b"y" * 100_000 + b"\n", "y" * 100_000),
        (bracketed(LINES) + b"\r", LINES.decode()),
        (bracketed(b"z" * 99 + b"\n") + b"\r", "z" * 99),
        (bracketed("ä€𝄞\n".encode() * 9000) + b"\r", "ä€𝄞\n" * 9000),
        ("aé€\x7f\x7fbc\x08d".encode() + b"\x04", "abd"),
        (b"wrong\x15right\ttab\r\n", "right\ttab"),
    ],
    ids=["5000", "100000", "lines", "one line", "split characters", "backspace", "other keys"],
)
def test_the_stored_value_is_the_entered_one(enter, typed, value):
    code, stored, shown = enter(typed, typed)
    assert code == 0, shown
    assert stored == [value]
    assert value[:9] not in shown


@pytest.mark.parametrize(
    "typed",
    [LINES, b"a\x1b[Db\r", b"\xff\r", b"\x04", bracketed(b"a\x00b"), bracketed(b"a\x7fb") + b"\r"],
    ids=["lines", "arrow", "no utf-8", "end", "nul", "delete"],
)
def test_an_input_that_cannot_be_stored_exactly_is_refused(enter, typed):
    code, stored, shown = enter(typed)
    assert (code, stored) == (2, [])
    assert "nothing is written" in shown


def test_two_inputs_that_differ_are_refused(enter):
    assert enter(b"one\r", b"two\r")[:2] == (2, [])


def test_ctrl_c_writes_nothing_and_restores_the_terminal(enter):
    assert enter(b"secret\x03")[:2] == (130, [])


def test_ctrl_z_stops_with_the_terminal_restored_and_asks_again(home, at, tmp_path):
    leader = tmp_path / "leader.py"
    leader.write_text(
        "import fcntl, os, signal, sys, termios\n"
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "os.setpgid(child, child)\n"
        "os.tcsetpgrp(0, child or os.getpid())\n"
        "if not child:\n"
        "    signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'secretsvc_client', 'set', 'A'])\n"
        "_, status = os.waitpid(child, os.WUNTRACED)\n"
        "assert os.WIFSTOPPED(status)\n"
        "assert termios.tcgetattr(0)[3] & termios.ICANON\n"
        "os.write(1, b'stopped')\n"
        "os.killpg(child, signal.SIGCONT)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    with Hostile(WRITTEN) as server:
        session = Session(at(server), sys.executable, str(leader))
        session.wait_for(b"value (not shown): ")
        session.type(b"half\x1a")
        session.wait_for(b"stopped")
        for prompt in (b"value (not shown): ", b"once more: "):
            session.wait_for(prompt)
            session.type(b"whole\r")
        assert session.end() == 0, session.shown
    assert json.loads(server.requests[0].partition(b"\r\n\r\n")[2])["set"] == {"A": "whole"}


def test_a_signal_restores_the_terminal(home, at):
    with Hostile(WRITTEN) as server:
        session = Session(at(server))
        session.wait_for(b"value (not shown): ")
        session.process.send_signal(signal.SIGINT)
        assert session.end() == 130
    assert server.requests == []
