"""The command of `run --watch`: its process, its process group, and what it inherits."""

from __future__ import annotations

import os
import signal

from secretsvc_client import terminal
from secretsvc_client.program_errors import not_started
from secretsvc_client.signals import Signals, blocked

#: Variables that name the process which systemd started. After an exec that would be the command.
_OF_SYSTEMD = (b"LISTEN_PID", b"WATCHDOG_PID", b"SYSTEMD_EXEC_PID")


class Child:
    """One command at a time, the leader of a process group of its own."""

    def __init__(self, program: str, arguments: list[str], signals: Signals) -> None:
        self._program, self._arguments, self._signals = program, arguments, signals
        self.group = 0
        #: The exit code, 128 and more for a signal; None while the command runs.
        self.code: int | None = None

    def start(self, environment: dict[bytes, bytes]) -> None:
        """Start the command; raise `Failure`."""
        is_foreground = terminal.foreground() == os.getpgrp()
        # The system closes the writer if the exec succeeds.
        reader, writer = os.pipe()
        with blocked(signal.valid_signals()):
            pid = os.fork()
            if pid == 0:
                self._become(environment, writer, is_foreground=is_foreground)
        os.close(writer)
        self.group, self.code = pid, None
        with open(reader, "rb") as file:
            problem = file.read()
        if problem:
            raise not_started(self._program, OSError(int(problem), os.strerror(int(problem))))

    def _become(self, environment: dict[bytes, bytes], writer: int, *, is_foreground: bool) -> None:
        """Replace this new process by the command, with what an exec by the client would have kept."""
        try:
            parent, own = (b"%d" % pid for pid in (os.getppid(), os.getpid()))
            for name in _OF_SYSTEMD:
                if environment.get(name) == parent:
                    environment[name] = own
            os.setpgid(0, 0)
            if is_foreground:
                terminal.move_to_foreground(os.getpid())
            self._signals.restore()
            os.execve(self._program, self._arguments, environment)
        except OSError as error:
            os.write(writer, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)

    def reap(self, *, all_children: bool) -> int:
        """Reap the command, or every child that ended; return the signal that stopped the command, or 0.

        Process 1 adopts orphans, and an exec keeps the children of a shell.
        """
        stopped = 0
        while True:
            try:
                pid, status = os.waitpid(-1 if all_children else self.group, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return stopped
            if pid == 0:
                return stopped
            if pid != self.group:
                continue
            if os.WIFSTOPPED(status):
                stopped = os.WSTOPSIG(status)
            else:
                code = os.waitstatus_to_exitcode(status)
                stopped, self.code = 0, code if code >= 0 else 128 - code

    def send(self, number: int) -> bool:
        """Send a signal to the whole group; False if the group is gone."""
        try:
            os.killpg(self.group, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # The command has another user's identity, or (macOS) only zombies are left.
            return self.code is None
        return True

    def is_left(self) -> bool:
        """Whether the command or another process of its group has not ended."""
        return self.group != 0 and (self.code is None or self.send(0))

    def resume(self) -> None:
        """Continue the group, in the foreground if the client is there."""
        if terminal.foreground() == os.getpgrp():
            terminal.move_to_foreground(self.group)
        self.send(signal.SIGCONT)

    def leave_foreground(self) -> None:
        """Put the client's own group back into the foreground where the command's is."""
        if self.group and terminal.foreground() == self.group:
            terminal.move_to_foreground(os.getpgrp())
