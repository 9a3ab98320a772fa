"""Signals, job control and the end of the process group of a command under `run --watch`."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from secretsvc_client import output, terminal
from secretsvc_client.child import Child
from secretsvc_client.signals import Signals

#: Seconds that a command has to end before it is killed.
GRACE = 10.0
#: Seconds between two checks of a group whose leader has ended: no signal reports the end of the others.
_POLL = 0.05
_OF_TERMINAL_ACCESS = (signal.SIGTTIN, signal.SIGTTOU)
_STOPPING = (signal.SIGTSTP, *_OF_TERMINAL_ACCESS)


class Keeper:
    """The one command, from its first start to the end of the client."""

    def __init__(self, child: Child, signals: Signals, asking: threading.Lock) -> None:
        """While another thread holds `asking` it has children of its own, which are not reaped here."""
        self._child, self._signals, self._asking = child, signals, asking
        self._owed: list[int] = []
        self._ending_until = -math.inf
        self._last_stop = 0

    def start(self, environment: dict[bytes, bytes]) -> None:
        """Start the command; raise `Failure`."""
        self._child.start(environment)
        owed, self._owed = self._owed, []
        for number in owed:
            self._child.send(number)

    def wait(self, has_news: Callable[[], bool]) -> int | None:
        """Return the exit code of the command, or None once there is news."""
        while True:
            self._handle_signals(None)
            if self._child.code is not None:
                return self._child.code
            if has_news():
                return None

    def stop(self) -> int | None:
        """End the command for a restart; return its exit code if it was ending anyway."""
        self._handle_signals(0)
        if self._child.code is not None:
            return self._child.code
        self.end()
        return self._child.code if time.monotonic() < self._ending_until else None

    def end(self) -> None:
        """End the whole group: SIGTERM, then SIGKILL after the grace."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._child.is_left():
                break
            if number == signal.SIGKILL:
                self.say(f"the command did not end within {GRACE:g} s of SIGTERM: it is killed")
            self._child.send(number)
            # A stopped process acts on no other signal.
            self._child.send(signal.SIGCONT)
            until = time.monotonic() + GRACE
            while self._child.is_left() and time.monotonic() < until:
                self._handle_signals(_POLL)
        self._child.leave_foreground()

    def say(self, text: str) -> None:
        """Write a line to stderr; a stderr that fails stops nothing."""
        with self._signals.ignoring_writes(), suppress(OSError):
            output.tell(f"secretsvc: {text}")

    def _handle_signals(self, seconds: float | None) -> None:
        """Pass on what was received, and reap what has ended; wait for a signal at most this long."""
        for number in self._signals.received(seconds):
            self._pass(number)
        is_free = self._asking.acquire(blocking=False)
        try:
            stopped = self._child.reap(all_children=is_free)
        finally:
            if is_free:
                self._asking.release()
        if stopped:
            self._stop_with(stopped)

    def _pass(self, number: int) -> None:
        if number == signal.SIGCHLD:
            return
        if number == signal.SIGCONT:
            self._child.resume()
            return
        # From a terminal these are for what the client itself, or its credential command, did there.
        if number in _OF_TERMINAL_ACCESS and terminal.foreground():
            return
        if number == signal.SIGTERM:
            self._ending_until = math.inf
        elif number in (signal.SIGINT, signal.SIGQUIT):
            # A command that still runs after the grace uses them for something else.
            self._ending_until = max(self._ending_until, time.monotonic() + GRACE)
        elif number in _STOPPING:
            self._last_stop = number
        if not self._child.send(number):
            self._owed.append(number)

    def _stop_with(self, number: int) -> None:
        """Stop with the command, as a shell expects; continue it if nothing stops the client."""
        found, own = terminal.foreground(), os.getpgrp()
        if number in _OF_TERMINAL_ACCESS and found == own:
            # `fg` sends no SIGCONT to a job that runs.
            self._child.resume()
            return
        if found != self._child.group and number not in _STOPPING:
            return
        # Ctrl-Z would have stopped the others of the client's group too, such as `make`.
        was_received, self._last_stop = number == self._last_stop, 0
        self._child.leave_foreground()
        is_stopped = self._signals.stop(number, group=not was_received)
        # A read of the terminal would only be stopped again, for ever.
        if not is_stopped and number not in _OF_TERMINAL_ACCESS:
            self._child.resume()
