"""The threads that serve: the one that was busy last takes the next request, and the others sleep on."""

from __future__ import annotations

import logging
import threading
from typing import Any

from waitress.task import ThreadedTaskDispatcher

log = logging.getLogger(__name__)


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # it has no types of its own
    """Waitress's, which wakes the thread that has slept the longest.

    What a thread and its core still hold in their caches is what the next request needs. Everything here is
    guarded by `lock`.
    """

    queue: Any
    lock: threading.Lock

    def __init__(self) -> None:
        super().__init__()
        self._idle: list[threading.Condition] = []

    def handler_thread(self, thread_no: int) -> None:
        """Serves until it is told to stop."""
        woken = threading.Condition(self.lock)
        while (task := self._next(thread_no, woken)) is not None:
            try:
                task.service()
            except BaseException:
                log.exception("a thread failed outside of a request")
            # It is a connection, with all that this holds: not to be kept until the next one.
            del task

    def _next(self, thread_no: int, woken: threading.Condition) -> Any:
        """The next connection with a request, or None at the end."""
        with self.lock:
            while not self.queue and self.stop_count == 0:
                self.active_count -= 1
                self._idle.append(woken)
                woken.wait()
                self.active_count += 1
            if self.stop_count:
                self.active_count -= 1
                self.stop_count -= 1
                self.threads.discard(thread_no)
                self.thread_exit_cv.notify()
                return None
            return self.queue.popleft()

    def set_thread_count(self, count: int) -> None:
        """Starts threads, or lets some end."""
        super().set_thread_count(count)
        with self.lock:
            if self.stop_count:
                self._wake(len(self._idle))

    def add_task(self, task: Any) -> None:
        """A connection whose request is to be served."""
        with self.lock:
            self.queue.append(task)
            self._wake(1)

    def _wake(self, count: int) -> None:
        for _ in range(min(count, len(self._idle))):
            self._idle.pop().notify()
