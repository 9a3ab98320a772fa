"""A service whose secrets a test changes, and the client that watches it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from hostile import secrets, told

import secretsvc_client

FOLDER = str(Path(secretsvc_client.__file__).parent.parent)


class Changing:
    """A service whose state a test changes."""

    def __init__(self) -> None:
        self.rev, self.id, self.value = 1, "one", "first"
        self.more: dict[str, str] = {}
        self.failing: bytes | None = None
        #: Whether a relay drops `If-None-Match`.
        self.is_unconditional = False
        self.asked: list[tuple[str, bool]] = []
        self._lock = threading.Lock()

    def change(self, **fields: object) -> None:
        """Set several fields at once: no answer has only some of them."""
        with self._lock:
            vars(self).update(fields)

    def __call__(self, request: bytes) -> bytes:
        with self._lock:
            return self._answer(request)

    def _answer(self, request: bytes) -> bytes:
        path = request.split(b" ")[1].decode().rpartition("/")[2]
        is_known = f'If-None-Match: "{self.rev}"'.encode() in request and not self.is_unconditional
        self.asked.append((path.partition("?")[0], b"If-None-Match" in request))
        if self.failing is not None:
            return self.failing
        if path == "prod":
            return told(200, {"id": self.id, "rev": self.rev})
        values: dict[str, object] = {"A": self.value, **self.more}
        return b"HTTP/1.1 304 X\r\n\r\n" if is_known else secrets(values, self.rev)


def client(*flags: str, grace: float = 60.0) -> list[str]:
    """The beginning of a command line: `run` with a grace in seconds, up to the command."""
    code = (
        f"import sys; sys.path.insert(0, {FOLDER!r}); from secretsvc_client import cli, keeper;"
        f" keeper.GRACE = {grace}; sys.exit(cli.main())"
    )
    return [sys.executable, "-c", code, "run", *flags, "--"]


WATCH = ("--watch", "--interval", "0.1")
