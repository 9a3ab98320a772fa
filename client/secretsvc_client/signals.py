"""The signals that the client receives while it runs a command."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Union

_Handler = Union[Callable[[int, "FrameType | None"], object], int, signal.Handlers, None]

#: Faults of a process itself. A handler that returns would repeat the fault for ever.
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
#: Signals that a write by the client itself can cause.
_OF_WRITES = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU)
#: Python ignores these from its start; what it found is not known.
_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
#: The byte that `wake` writes: no signal has this number.
_WAKE = 0


@contextmanager
def blocked(numbers: Iterable[int]) -> Iterator[None]:
    """Block signals in this thread, and in the threads and processes that it starts meanwhile."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal whose number is in the pipe already."""


class Signals:
    """A context manager that queues all signals but SIGKILL and SIGSTOP, each once.

    For the main thread. A signal stays queued until `received` returns it.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        self._found: dict[int, _Handler] = {}
        self._mask: set[int] = set()
        self._queue: list[int] = []

    def __enter__(self) -> Signals:
        os.set_blocking(self._writer, False)
        os.set_blocking(self._reader, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, *_FAULTS}:
            self._found[number] = signal.signal(number, _do_nothing)
        for number in _FAULTS:
            self._found[number] = signal.getsignal(number)
        self._mask = set(signal.pthread_sigmask(signal.SIG_SETMASK, _FAULTS))
        with blocked(signal.valid_signals()):
            threading.Thread(target=self._wait_for_faults, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._found.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def wake(self) -> None:
        """Let a `received` in the main thread return; for other threads."""
        self._write(_WAKE)

    def received(self, seconds: float | None) -> list[int]:
        """Return the queued signals and empty the queue; wait for the first, at most this long."""
        if not self._queue:
            select.select([self._reader], [], [], seconds)
        found = self.queued()
        self._queue = []
        return [number for number in found if number != _WAKE]

    def queued(self) -> list[int]:
        """Return the queued signals, which stay queued."""
        try:
            while data := os.read(self._reader, 4096):
                self._queue += data
        except BlockingIOError:
            pass
        return self._queue

    @contextmanager
    def ignoring_writes(self) -> Iterator[None]:
        """Ignore what a write by the client itself causes: none of it is for the command."""
        for number in _OF_WRITES:
            signal.signal(number, signal.SIG_IGN)
        try:
            yield
        finally:
            for number in _OF_WRITES:
                signal.signal(number, _do_nothing)

    def start(self, thread: threading.Thread) -> None:
        """Start a thread whose own writes cause no signal for the command."""
        with blocked(_OF_WRITES):
            thread.start()

    def restore(self) -> None:
        """Restore what an exec would have kept: ignored signals and the mask; for a child before its exec."""
        for number, handler in self._found.items():
            is_ignored = handler is signal.SIG_IGN and number not in _OF_PYTHON
            signal.signal(number, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def stop(self, number: int, *, group: bool) -> bool:
        """Stop the client, or its whole process group, until SIGCONT; False if nothing stopped it."""
        if number != signal.SIGSTOP:
            signal.signal(number, signal.SIG_DFL)
        os.kill(0 if group else os.getpid(), number)
        if number != signal.SIGSTOP:
            signal.signal(number, _do_nothing)
        return signal.SIGCONT in self.queued()

    def _wait_for_faults(self) -> None:
        """Queue the faults that another process sent; a fault of the client itself still kills it."""
        while True:
            self._write(signal.sigwait(_FAULTS))

    def _write(self, number: int) -> None:
        # A full pipe has enough to wake the main thread.
        with suppress(BlockingIOError):
            os.write(self._writer, bytes([number]))
