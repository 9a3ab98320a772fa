"""A request as the server hands it over, for what no URL of a polite client can express."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True)
class Answer:
    """A response as the server gets it; header names in lower case."""

    status: int
    header_list: list[tuple[str, str]]
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.header_list}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["code"]


def call(
    app: Any,
    method: str,
    target: str,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    **environ: Any,
) -> Answer:
    """Sends a percent-encoded target and nothing that is not named; `environ` wins over all of it."""
    path, _, query = target.partition("?")
    base: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost:80",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body:
        base["CONTENT_LENGTH"] = str(len(body))
    for name, value in (headers or {}).items():
        variable = name.upper().replace("-", "_")
        base[variable if variable in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{variable}"] = value
    sent: list[Any] = []
    chunks = app(base | environ, lambda status, fields, exc_info=None: sent.append((status, fields)))
    content = b"".join(chunks)
    if hasattr(chunks, "close"):
        chunks.close()
    status, fields = sent[-1]
    return Answer(int(status.split()[0]), fields, content)
