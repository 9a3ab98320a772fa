"""`run --watch`: the command is restarted when the secrets, or the environment itself, are others.

The revision is asked for conditionally, which opens nothing and is not recorded; the environment's id
tells one that was made anew under the same name and is at the same revision (contract 5.7).
"""

from __future__ import annotations

import os
import queue
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secretsvc_client import output
from secretsvc_client.api import Service, text
from secretsvc_client.errors import Failure, Refused, Unreachable, WrongUse

if TYPE_CHECKING:
    from secretsvc_client.cli import Call
    from secretsvc_client.commands.run import Selection, State
    from secretsvc_client.fallback import Fallback

#: Of the interval, either way.
_JITTER = 0.2
#: Seconds that a command has to end before it is killed.
_GRACE = 10.0
_PASSED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
#: What a terminal sends to the command itself.
_OF_TERMINAL = ("SIGINT", "SIGQUIT")
_ENDING = ("SIGTERM", *_OF_TERMINAL)


def watch(call: Call, program: str, selection: Selection, fallback: Fallback | None) -> int:
    """Runs the command until it ends, by itself or by a signal; its exit code, 128 and more for a signal.

    Raises `WrongUse` where the system has no signals.
    """
    if os.name == "nt":
        raise WrongUse("--watch is not there on Windows")
    service = call.service
    watcher = Watcher(service, selection, fallback, call.args.interval)
    state = watcher.first()
    keeper = Keeper(program, list(call.rest), watcher.news, watcher.wake)
    keeper.take_signals()
    keeper.start(selection.environment(state))
    threading.Thread(target=watcher.run, daemon=True).start()
    while (code := keeper.wait()) is None:
        state = watcher.news.get()
        output.tell(f"secretsvc: the secrets changed (revision {state.rev}): restarting the command")
        code = keeper.stop()
        if code is not None:
            return code
        keeper.start(selection.environment(state))
    return code


@dataclass
class Watcher:
    """Asks for news in a thread of its own, and puts them where the main thread finds them."""

    service: Service
    selection: Selection
    fallback: Fallback | None
    interval: float
    news: queue.SimpleQueue[State] = field(default_factory=queue.SimpleQueue)
    wake: tuple[int, int] = field(default_factory=os.pipe)
    _known: tuple[str | None, int] = (None, -1)
    _given: State | None = None
    _is_failing: bool = False

    def first(self) -> State:
        """The state to start with; raises as `Selection.fetch` does."""
        try:
            environment_id = self._environment_id()
        except Failure as failure:
            if self.fallback is None or not isinstance(failure, (Unreachable, Refused)):
                raise
            self.fallback.forget_after(failure)
            if isinstance(failure, Refused):
                raise
            environment_id = None
        if self.fallback is not None:
            state = self.fallback.fetch(self.service, self.selection)
        else:
            state = self.selection.fetch(self.service)
        self._known, self._given = (environment_id, state.rev), state
        return state

    def run(self) -> None:
        """Asks for ever, each time a little sooner or later than the interval, so that clients spread."""
        while True:
            time.sleep(self.interval * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311 - no secret
            try:
                state = self.changed()
            except Failure as failure:
                self._fail(failure)
                continue
            except Exception as error:  # the thread must not end: its text may hold a value
                output.warn(f"an unexpected {type(error).__name__} while asking for changes; asking again")
                continue
            self._is_failing = False
            if state is not None:
                self.news.put(state)
                os.write(self.wake[1], b"n")

    def changed(self) -> State | None:
        """The state where it is another than the known one, else None."""
        known_id, rev = self._known
        environment_id = self._environment_id()
        is_same = known_id == environment_id
        state = self.selection.fetch_unless(self.service, rev if is_same else None)
        if state is None:
            return None
        narrowed = self.selection.narrowed(state)
        if self.fallback is not None:
            self.fallback.keep(state, self.selection.mode)
        # After a start from the fallback the id is learnt; the command may have the present state.
        is_new = known_id is not None or narrowed != self._given
        self._known, self._given = (environment_id, state.rev), narrowed
        return narrowed if is_new else None

    def _environment_id(self) -> str:
        return text(self.service.get(self.selection.path), "id")

    def _fail(self, failure: Failure) -> None:
        """Says so once, until it works again; the command goes on with what it has."""
        if self.fallback is not None:
            self.fallback.forget_after(failure)
        if not self._is_failing:
            output.warn(f"changes are not seen at present, the command goes on: {failure.message}")
        self._is_failing = True


class Keeper:
    """The one child, and the signals that are passed on to it."""

    def __init__(
        self, program: str, arguments: Sequence[str], news: queue.SimpleQueue[State], wake: tuple[int, int]
    ) -> None:
        self._program, self._arguments = program, arguments
        self._news, self._wake = news, wake
        self._child: subprocess.Popen[bytes] | None = None
        self._is_ending = False
        self._owed: list[int] = []

    def take_signals(self) -> None:
        """From now on signals go to the command."""
        os.set_blocking(self._wake[1], False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for name in _PASSED:
            signal.signal(getattr(signal, name), self._pass)

    def start(self, environment: dict[bytes, bytes]) -> None:
        """Starts the command; raises `Failure`."""
        try:
            self._child = child = subprocess.Popen(self._arguments, executable=self._program, env=environment)
        except OSError as error:
            from secretsvc_client.commands.run import not_started

            raise not_started(self._program, error) from None
        # Each once: a second one would meet a command that no longer minds the first.
        while self._owed:
            child.send_signal(self._owed.pop(0))

    def wait(self) -> int | None:
        """The exit code, or None once there are news."""
        while True:
            code = self._code()
            if code is not None:
                return code
            if not self._news.empty():
                return None
            select.select([self._wake[0]], [], [])
            os.read(self._wake[0], 4096)

    def stop(self) -> int | None:
        """Ends the command; its exit code where it, or a signal that was passed on, ended it already."""
        child = self._child
        if child is None:
            return None
        code = self._code()
        if code is not None:
            return code
        child.terminate()
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            output.warn(f"the command did not end within {_GRACE:g} s of SIGTERM: it is killed")
            child.kill()
            child.wait()
        return self._code() if self._is_ending else None

    def _code(self) -> int | None:
        code = self._child.poll() if self._child is not None else None
        return code if code is None or code >= 0 else 128 - code

    def _pass(self, number: int, _frame: object) -> None:
        name = signal.Signals(number).name
        if name in _OF_TERMINAL and sys.stdin.isatty():
            return
        self._is_ending = self._is_ending or name in _ENDING
        if self._child is None or self._child.returncode is not None:
            self._owed.append(number)
        else:
            self._child.send_signal(number)
