"""Requests to the application behind the development proxy, without a server."""

from __future__ import annotations

from typing import Any

import plaster
import webob

IDENTITY_HEADER = "X-Dev-Identity"


class Refused(RuntimeError):
    """The application answered otherwise than the demo expects."""


class Caller:
    """Whoever the demo speaks for: an e-mail address, or `service:` and a name."""

    def __init__(self, app: Any, identity: str) -> None:
        self.app, self.identity = app, identity

    def ask(self, method: str, path: str, body: Any = None, *, expected: int | None = None) -> Any:
        """The answer's document. Raises `Refused` for another status than the expected, or any error."""
        request = webob.Request.blank(f"/api/v1{path}", method=method, base_url="http://localhost")
        request.remote_addr = "127.0.0.1"
        request.headers[IDENTITY_HEADER] = self.identity
        if body is not None:
            request.content_type = "application/json"
            request.json_body = body
        answer = request.get_response(self.app)
        wanted = answer.status_int == expected if expected else answer.status_int < 400
        if not wanted:
            raise Refused(f"{self.identity}: {method} {path}: {answer.status} {answer.text}")
        return answer.json if answer.body else None

    def get(self, path: str, **options: Any) -> Any:
        """What is there."""
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any) -> Any:
        """What became of it."""
        return self.ask("POST", path, body)

    def exists(self, path: str) -> bool:
        """Whether the caller sees anything there."""
        try:
            self.get(path)
        except Refused:
            return False
        return True


def load(ini: str) -> Any:
    """The application of an ini file, filters and all."""
    return plaster.get_loader(ini, ["wsgi"]).get_wsgi_app()
