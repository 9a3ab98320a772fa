"""`run --watch` on a terminal: the command is in its foreground, and stops and goes on as a job."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from changing import WATCH, Changing, client
from hostile import Hostile
from waiting import PATIENCE

#: Names each signal that it catches, and repeats each line of its terminal. An empty line ends it.
COMMAND = """
import os, signal
def caught(number, _frame):
    os.write(1, b"<%s>\\n" % signal.Signals(number).name.encode())
for name in ("INT", "QUIT", "CONT", "WINCH", "USR1"):
    signal.signal(getattr(signal, "SIG" + name), caught)
os.write(1, b"<foreground %d>\\n" % (os.tcgetpgrp(0) == os.getpgrp()))
while line := os.read(0, 99).strip():
    os.write(1, b"<line %s>\\n" % line)
"""
WATCHED = [*client(*WATCH), sys.executable, "-c", COMMAND]


class Terminal:
    """A process whose controlling terminal this is."""

    def __init__(self, command, environment):
        self._ours, theirs = pty.openpty()
        self.seen = b""

        def control():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, preexec_fn=control
        )
        os.close(theirs)

    def type(self, text):
        os.write(self._ours, text)

    def until(self, text):
        """Return what came up to this text, which is taken away."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            left = end - time.monotonic()
            assert select.select([self._ours], [], [], max(0, left))[0], self.seen
            self.seen += os.read(self._ours, 4096)
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._ours)


@pytest.fixture
def terminal(at, home):
    made = []

    def start(*command):
        made.append(Terminal(command, {**os.environ, **at(server), "PS1": "$ ", "TERM": "dumb"}))
        return made[-1]

    # A script: a terminal takes no line of this length.
    Path("job").write_text(f"{shlex.join(WATCHED)}\n")
    Path("background").write_text(f"{shlex.join(WATCHED)} &\n")
    with Hostile(Changing()) as server:
        yield start
        for one in made:
            one.close()


def test_the_command_is_in_the_foreground_and_gets_each_key_once(terminal):
    shown = terminal(*WATCHED)
    shown.until(b"<foreground 1>")
    for key, name in ((b"\x03", b"<SIGINT>"), (b"\x1c", b"<SIGQUIT>"), (b"\x03", b"<SIGINT>")):
        shown.type(key)
        assert b"<SIG" not in shown.until(name)
    shown.type(b"hello\n")
    assert b"<SIG" not in shown.until(b"<line hello>")
    shown.type(b"\n")
    assert shown.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH, signal.SIGUSR1])
def test_a_signal_of_another_process_reaches_the_command_once(terminal, number):
    shown = terminal(*WATCHED)
    shown.until(b"<foreground 1>")
    for _ in range(2):
        shown.process.send_signal(number)
        assert b"<SIG" not in shown.until(b"<%s>" % number.name.encode())
    shown.type(b"hello\n")
    assert b"<SIG" not in shown.until(b"<line hello>")


def test_a_shell_stops_and_continues_it_as_a_job(terminal):
    shown = terminal("bash", "--norc", "--noediting", "-i")
    shown.type(b". ./job\n")
    shown.until(b"<foreground 1>")
    shown.type(b"\x1a")
    shown.until(b"Stopped")
    shown.type(b"echo the-$((1 + 1))-shell\n")
    shown.until(b"the-2-shell")
    shown.type(b"fg\n")
    shown.until(b"<SIGCONT>")
    shown.type(b"hello\n")
    assert b"<SIG" not in shown.until(b"<line hello>")
    shown.type(b"\x03")
    assert b"<SIG" not in shown.until(b"<SIGINT>")
    shown.type(b"\n")
    shown.type(b"echo code-$?-\n")
    shown.until(b"code-0-")


def test_a_job_in_the_background_leaves_the_terminal_to_the_shell(terminal):
    shown = terminal("bash", "--norc", "--noediting", "-i")
    shown.type(b". ./background\n")
    shown.until(b"<foreground 0>")
    shown.type(b"echo the-$((1 + 1))-shell\n")
    shown.until(b"the-2-shell")
    shown.type(b"fg\n")
    shown.type(b"hello\n")
    shown.until(b"<line hello>")


def test_without_a_shell_ctrl_z_stops_nothing_for_ever(terminal):
    shown = terminal(*WATCHED)
    shown.until(b"<foreground 1>")
    shown.type(b"\x1a")
    shown.until(b"<SIGCONT>")
    shown.type(b"hello\n")
    shown.until(b"<line hello>")
