"""`run --watch`: restart the command when its secrets change.

The revision is asked for conditionally, which opens nothing and is not recorded. The environment's id
shows that another environment of the same name is at the same revision (contract 5.7).
"""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from secretsvc_client import output
from secretsvc_client.api import Service, text
from secretsvc_client.cli import Call
from secretsvc_client.errors import Failure, Refused, Unreachable, WrongUse
from secretsvc_client.fallback import Fallback
from secretsvc_client.selection import Selection, State

#: Of the interval, either way.
_JITTER = 0.2


def watch(call: Call, program: str, selection: Selection, fallback: Fallback | None) -> int:
    """Run the command until it ends; return its exit code, 128 and more for a signal (contract 16.11).

    Raises `WrongUse` where the system has no signals.
    """
    if os.name == "nt":
        raise WrongUse("--watch is not there on Windows")
    from secretsvc_client.child import Child
    from secretsvc_client.keeper import Keeper
    from secretsvc_client.signals import Signals

    watcher = Watcher(call.service, selection, fallback, call.args.interval)
    # Until the command starts, a signal ends the client: the file of --format can be a pipe without a reader.
    environment = selection.environment(watcher.first())
    with Signals() as signals:
        watcher.wake = signals.wake
        keeper = Keeper(Child(program, list(call.rest), signals), signals, watcher.asking)
        try:
            while True:
                keeper.start(environment)
                thread = threading.Thread(target=watcher.run, daemon=True)
                signals.start(thread)
                code = keeper.wait(lambda: not watcher.news.empty())
                if code is not None:
                    return code
                # The next fork must find no thread that holds a lock.
                thread.join()
                state = watcher.news.get()
                keeper.say(f"the secrets changed (revision {state.rev}): restarting the command")
                code = keeper.stop()
                if code is not None:
                    return code
                with signals.ignoring_writes():
                    environment = selection.environment(state)
        finally:
            keeper.end()


@dataclass
class Watcher:
    """Asks for news in a thread of its own, and puts them where the main thread finds them."""

    service: Service
    selection: Selection
    fallback: Fallback | None
    interval: float
    news: queue.SimpleQueue[State] = field(default_factory=queue.SimpleQueue)
    #: Called after each question, also one without news: what ended during it is to be reaped.
    wake: Callable[[], None] = lambda: None
    #: Held while a request, and a command that prints the credential, is under way.
    asking: threading.Lock = field(default_factory=threading.Lock)
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
        """Ask until there is news, each time a little sooner or later, so that clients spread."""
        while self.news.empty():
            time.sleep(self.interval * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311 - no secret
            with self.asking, suppress(OSError):  # of a stderr that fails
                self._ask()
            self.wake()

    def changed(self) -> State | None:
        """Return the state if a secret of the command differs from what it has, else None."""
        known_id, rev = self._known
        environment_id = self._environment_id()
        state = self.selection.fetch_unless(self.service, rev if known_id == environment_id else None)
        # Something between may drop the condition, and answer 200 with the known revision.
        if state is None or (environment_id, state.rev) == self._known:
            return None
        found = (environment_id, state.rev)
        try:
            narrowed = self.selection.narrowed(state)
        except Failure:
            # The same revision would fail again, at each question.
            self._known = found
            raise
        if self.fallback is not None:
            self.fallback.keep(state, self.selection.mode)
        is_same = self._given is not None and narrowed[1:] == self._given[1:]
        self._known, self._given = found, narrowed
        return None if is_same else narrowed

    def _environment_id(self) -> str:
        return text(self.service.get(self.selection.path), "id")

    def _ask(self) -> None:
        try:
            state = self.changed()
        except Failure as failure:
            self._fail(failure)
        except Exception as error:  # the thread must not end: its text may hold a value
            output.warn(f"an unexpected {type(error).__name__} while asking for changes; asking again")
        else:
            self._is_failing = False
            if state is not None:
                self.news.put(state)

    def _fail(self, failure: Failure) -> None:
        """Report the first failure in a row; the command goes on with what it has."""
        if self.fallback is not None:
            self.fallback.forget_after(failure)
        if not self._is_failing:
            self._is_failing = True
            output.warn(f"changes are not seen at present, the command goes on: {failure.message}")
