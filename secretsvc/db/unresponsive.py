"""A database that says nothing: how long a request waits for it, and who goes on asking (decision 0034).

The server's own limits do not help where the server is frozen or the way to it is cut, and the kernel's
(`tcp_user_timeout`) not where the other kernel still acknowledges what nobody reads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout
from sqlalchemy.exc import TimeoutError

log = logging.getLogger(__name__)

T = TypeVar("T")

#: How long an answer may take: longer than the server's own limits, which say more of the cause.
ANSWER_SECONDS = 18.0
#: Between two questions while it is silent, and how long each of them waits.
PAUSE_SECONDS, ASK_SECONDS = 0.5, 2


class ResponseTimeout(psycopg.OperationalError):
    """The answer did not come in time; the connection is closed."""


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that waits `answer_seconds` for each answer, and tells `silent` where none came."""

    #: For ever.
    answer_seconds: float | None = None
    silent: Callable[[], None] | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """As the driver's. Raises `ResponseTimeout`."""
        began = time.monotonic()
        limit = self.answer_seconds if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit)
        except psycopg.OperationalError:
            if limit is None or self.closed or time.monotonic() - began < limit:
                raise
        # What is still to come would be taken for the answer to the next statement.
        self.close()
        if self.silent is not None:
            self.silent()
        raise ResponseTimeout("the database did not answer in time")


class OutageDetector:
    """Notices that the database has fallen silent, and then asks on until it answers.

    Meanwhile nobody else waits for it: the threads of a process are few, and all of them would.
    """

    def __init__(self, answer_seconds: float | None, ended: Callable[[], None], level: int) -> None:
        """`answer_seconds` for each answer. `ended` is called once there is one again.

        The log is told at `level` of its beginning and its end.
        """
        self._answer_seconds, self._ended, self._level = answer_seconds, ended, level
        self._lock = threading.Lock()
        self._is_on = False

    def check(self) -> None:
        """Raises `sqlalchemy.exc.TimeoutError` while it lasts."""
        if self._is_on:
            raise TimeoutError("the database does not answer")

    def connect(self, arguments: tuple[str, ...], parameters: Mapping[str, Any]) -> LimitedConnection:
        """A connection by what the driver takes."""
        ask = partial(_ask, arguments, parameters)
        try:
            made = LimitedConnection.connect(*arguments, **parameters)
        except ConnectionTimeout:
            self._begin(ask)
            raise
        made.answer_seconds, made.silent = self._answer_seconds, partial(self._begin, ask)
        return made

    def _begin(self, ask: Callable[[], None]) -> None:
        with self._lock:
            if self._is_on:
                return
            self._is_on = True
        log.log(self._level, "the database does not answer: requests that need it are refused meanwhile")
        threading.Thread(target=self._ask_on, args=(ask,), name="database-silence", daemon=True).start()

    def _ask_on(self, ask: Callable[[], None]) -> None:
        while True:
            try:
                ask()
                break
            except (ResponseTimeout, ConnectionTimeout):
                time.sleep(PAUSE_SECONDS)
            except Exception as error:
                # A refusal is an answer, too.
                log.debug("the database answers by %s", type(error).__qualname__)
                break
        # Connections of before may lead nowhere for ever.
        self._ended()
        self._is_on = False
        log.log(self._level, "the database answers again")


def _ask(arguments: tuple[str, ...], parameters: Mapping[str, Any]) -> None:
    """Raises what the driver raises."""
    hurried = {**parameters, "connect_timeout": ASK_SECONDS}
    with LimitedConnection.connect(*arguments, **hurried) as connection:
        connection.answer_seconds = ASK_SECONDS
        connection.execute("SELECT 1")
