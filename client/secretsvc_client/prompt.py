"""The prompt for one value: exactly what was typed or pasted, or a refusal.

A terminal in canonical mode cuts a line at 4095 bytes (1023 on macOS) and reports nothing. The prompt
therefore reads in non-canonical mode, without echo, and handles the editing keys itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress

from secretsvc_client.errors import WrongUse
from secretsvc_client.inputs import LONGEST

#: Seconds without input after which a paste is over.
_QUIET = 0.1
#: A terminal sets off a paste by these, if asked to.
_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_ASK_MARKS, _NO_MARKS = b"\x1b[?2004h", b"\x1b[?2004l"
_INTERRUPT, _END, _KILL_LINE, _SUSPEND, _ESCAPE = 0x03, 0x04, 0x15, 0x1A, 0x1B
_ERASE = (0x08, 0x7F)
_TAB, _LINE_FEED, _RETURN = 0x09, 0x0A, 0x0D
_ELSEWHERE = "Use --file or a pipe for this value."


class Suspended(Exception):
    """The user pressed Ctrl-Z."""


class Typed:
    """Input of one prompt: `feed` it the bytes of the terminal until it `is_done`."""

    def __init__(self) -> None:
        self.is_done = False
        self._value, self._escape = bytearray(), bytearray()
        self._is_pasting, self._after_return = False, False

    def feed(self, data: bytes) -> bytes:
        """Add the bytes; return those that follow the end of the value.

        Raises `WrongUse`, `Suspended`, and `KeyboardInterrupt` for Ctrl-C.
        """
        for index, byte in enumerate(data):
            self._add(byte)
            if self.is_done:
                return data[index + 1 :]
        if len(self._value) > LONGEST:
            raise WrongUse("the value is larger than 16 MiB: nothing is written")
        return b""

    def text(self) -> str:
        """The value; raises `WrongUse` for bytes that are not UTF-8."""
        value = bytes(self._value)
        if value.count(b"\n") == 1 and value.endswith(b"\n"):
            # A line that is copied with its end; a value of several lines keeps its last one.
            value = value[:-1]
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise WrongUse("the value is not UTF-8: nothing is written", "Store it in base64.") from None

    def _add(self, byte: int) -> None:
        if byte == _INTERRUPT:
            raise KeyboardInterrupt
        if self._escape or byte == _ESCAPE:
            self._add_mark(byte)
        elif self._is_pasting:
            self._add_pasted(byte)
        elif byte in (_RETURN, _LINE_FEED) or (byte == _END and self._value):
            self.is_done = True
        elif byte in _ERASE:
            self._erase()
        elif byte == _KILL_LINE:
            self._value.clear()
        elif byte == _SUSPEND:
            raise Suspended
        elif byte == _END:
            raise WrongUse("the input ended without a value: nothing is written")
        else:
            self._append(byte)

    def _add_mark(self, byte: int) -> None:
        self._escape.append(byte)
        mark = _PASTE_END if self._is_pasting else _PASTE
        if not mark.startswith(self._escape):
            raise WrongUse("the input has a control character: nothing is written", _ELSEWHERE)
        if self._escape == mark:
            self._escape.clear()
            self._is_pasting = not self._is_pasting
            self._after_return = False

    def _add_pasted(self, byte: int) -> None:
        """Terminals paste a line end as CR: it is a line feed of the value."""
        if byte == _LINE_FEED and self._after_return:
            self._after_return = False
            return
        self._after_return = byte == _RETURN
        self._append(_LINE_FEED if byte == _RETURN else byte)

    def _append(self, byte: int) -> None:
        if (byte < 0x20 and byte not in (_TAB, _LINE_FEED)) or byte == 0x7F:
            raise WrongUse("the input has a control character: nothing is written", _ELSEWHERE)
        self._value.append(byte)

    def _erase(self) -> None:
        """Remove the last character, which is several bytes where it is not ASCII."""
        while self._value and self._value.pop() & 0xC0 == 0x80:
            pass


def ask_twice() -> str:
    """The value that the user enters twice; raises `WrongUse`, also for two that differ."""
    if os.name == "nt":
        # Windows has no termios, and does not cut a line.
        import getpass

        first, second = getpass.getpass("value (not shown): "), getpass.getpass("once more: ")
    else:
        with Terminal(sys.stdin.fileno()) as terminal:
            first, second = terminal.ask("value (not shown): "), terminal.ask("once more: ")
    if first != second:
        raise WrongUse("the two are not the same: nothing is written")
    return first


class Terminal:
    """A terminal without echo and canonical mode; its modes are restored at the end."""

    def __init__(self, handle: int) -> None:
        import termios

        self._termios, self._in, self._out = termios, handle, _output_of(handle)
        self._modes = termios.tcgetattr(handle)

    def __enter__(self) -> Terminal:
        self._enter(self._termios.TCSAFLUSH)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            # The rest of a refused paste must not become commands of the shell.
            self._discard()
        self._leave()
        if self._out != 2:
            os.close(self._out)

    def ask(self, prompt: str) -> str:
        """The value entered after the prompt; raises `WrongUse` and `KeyboardInterrupt`."""
        typed = Typed()
        self._show(prompt.encode())
        while not typed.is_done:
            try:
                after = typed.feed(self._read())
            except Suspended:
                self._suspend()
                typed = Typed()
                self._show(prompt.encode())
        while after in (b"", b"\n") and self._has_input():
            after += self._read()
        if after not in (b"", b"\n"):
            raise WrongUse("several lines came at once: nothing is written", _ELSEWHERE)
        self._show(b"\n")
        return typed.text()

    def _enter(self, when: int) -> None:
        modes, at = self._termios.tcgetattr(self._in), self._termios
        modes[0] &= ~(at.ICRNL | at.INLCR | at.IGNCR | at.ISTRIP | at.IXON)
        modes[3] &= ~(at.ICANON | at.ECHO | at.ECHONL | at.ISIG | at.IEXTEN)
        modes[6] = [*modes[6]]
        modes[6][at.VMIN], modes[6][at.VTIME] = 1, 0
        at.tcsetattr(self._in, when, modes)
        self._mark(_ASK_MARKS)

    def _leave(self) -> None:
        self._mark(_NO_MARKS)
        with suppress(self._termios.error):
            self._termios.tcsetattr(self._in, self._termios.TCSAFLUSH, self._modes)

    def _suspend(self) -> None:
        """Stop with the terminal's own modes; take them away again afterwards."""
        self._show(b"\n")
        self._leave()
        os.kill(0, signal.SIGTSTP)
        self._enter(self._termios.TCSADRAIN)

    def _read(self) -> bytes:
        try:
            data = os.read(self._in, 65_536)
        except OSError:
            data = b""
        if not data:
            raise WrongUse("the terminal closed: nothing is written")
        return data

    def _has_input(self) -> bool:
        return bool(select.select([self._in], [], [], _QUIET)[0])

    def _discard(self) -> None:
        with suppress(OSError):
            self._show(b"\n")
            while self._has_input() and os.read(self._in, 65_536):
                pass

    def _mark(self, mark: bytes) -> None:
        if os.environ.get("TERM", "dumb") != "dumb":
            with suppress(OSError):
                self._show(mark)

    def _show(self, text: bytes) -> None:
        os.write(self._out, text)


def _output_of(handle: int) -> int:
    """The terminal, to write to; stderr if it has no name here, as in some containers."""
    try:
        return os.open(os.ttyname(handle), os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return 2
