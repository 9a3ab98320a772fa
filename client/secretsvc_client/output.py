"""What is shown: tables for people, JSON for programs, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from secretsvc_client.errors import Failure
from secretsvc_client.grammar import printable

_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"
#: Seconds after which a person wants to know that something goes on.
_PATIENCE = 1.0


def print_json(found: object) -> None:
    """One JSON document; everything beyond ASCII is escaped, so that a terminal may take it."""
    print(json.dumps(found, indent=2, ensure_ascii=True))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as they must be, cells made safe; the heads bold on a terminal."""
    cells = [[printable("" if one is None else one) for one in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells)]
    for index, row in enumerate([list(heads), *cells]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        print(paint(line, _BOLD, sys.stdout) if index == 0 else line)


def tell(text: str) -> None:
    """A line for people, beside the output."""
    print(text, file=sys.stderr)


def warn(text: str) -> None:
    """A line that nobody should miss."""
    print(paint(f"secretsvc: {text}", _RED, sys.stderr), file=sys.stderr)


def paint(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour where the stream is a terminal that wants one."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"{colour}{text}{_PLAIN}" if wanted else text


def moment(value: object) -> str:
    """Epoch milliseconds as a person reads them."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**14:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value / 1000))


def report(failure: Failure, *, is_json: bool, is_run: bool) -> None:
    """Show a failure on stderr: in one line the reason, what to do and the request id, or as JSON.

    Under `run`, whose exit code does not show it, the line begins with the code of contract 9.1.
    """
    if is_json:
        told: Mapping[str, Any] = {
            "error": {
                "exit_code": failure.exit_code,
                "status": failure.status,
                "code": failure.code,
                "message": failure.message,
                "hint": failure.hint,
                "issues": [{"path": path, "message": message} for path, message in failure.issues],
                "request_id": failure.request_id,
            }
        }
        print(json.dumps(told), file=sys.stderr)
        return
    parts = [failure.message, *(": ".join(filter(None, issue)) for issue in failure.issues)]
    if failure.hint:
        parts.append(failure.hint)
    request = f" (request {failure.request_id})" if failure.request_id else ""
    # One line, for the log it may end in.
    code = f"exit {failure.exit_code}: " if is_run else ""
    warn(code + " | ".join(part.replace("\n", " ") for part in parts) + request)


def drop(stream: TextIO) -> None:
    """Discard the buffered output of stdout or stderr, which Python would fail to write at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Progress:
    """Says on a terminal what is waited for, once it takes long, and how far it is."""

    def __init__(self, what: str) -> None:
        self._what, self._began, self._shown = what, time.monotonic(), False

    def __enter__(self) -> Progress:
        return self

    def step(self, done: int) -> None:
        """So many are done."""
        if sys.stderr.isatty() and time.monotonic() - self._began > _PATIENCE:
            self._shown = True
            print(f"\r{self._what}: {done} …", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
