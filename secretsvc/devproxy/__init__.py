"""The development proxy: plays the access proxy before an application on one's own machine.

A PasteDeploy filter. It signs a real assertion for a chosen identity, and the application behind it
verifies that as in production: nothing there can be told to skip it. It serves this machine alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, unquote

from secretsvc.devproxy.page import POLICY, render
from secretsvc.devproxy.signing import SERVICE, Assertions
from secretsvc.kernel.errors import BadRequest, Forbidden, NotFound, SecretsvcError
from secretsvc.kernel.subjects import email_subject, exact_subject
from secretsvc.web.cross_site import cross_site
from secretsvc.web.headers import (
    API_CONTENT_SECURITY_POLICY,
    REQUEST_ID_HEADER,
    SECURITY_HEADERS,
    request_id,
)

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PAGE = "/.devproxy/"
NOBODY = "nobody"
CHOICE = "secretsvc_dev_identity"
MAX_FORM_BYTES = 8192

_LOCAL_HOST = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_STATUS = {
    BadRequest.code: "400 Bad Request",
    Forbidden.code: "403 Forbidden",
    NotFound.code: "404 Not Found",
}


def make_filter(
    global_config: Mapping[str, str],
    *,
    directory: str,
    issuer: str,
    audience: str,
    header: str = "Proxy-Access-Jwt-Assertion",
    cookie: str = "Proxy_Authorization",
    identity: str = "admin@example.test",
    people: str = "",
) -> Callable[[WSGIApplication], DevProxy]:
    """A filter for an ini's `use = egg:secretsvc#devproxy`; its options are named as in the ini.

    `directory` keeps `key.pem` and `jwks.json`. An identity is an e-mail address, `service:` and a
    common name, or `nobody`; `people` suggests more of them, comma-separated. Raises ValueError for
    what is none, and OSError where the directory cannot be written.
    """
    assertions = Assertions(Path(directory), issuer, audience)
    suggested = [identity, *(name for name in people.split(",") if name.strip()), NOBODY]
    names = tuple(dict.fromkeys(_configured(name) for name in suggested))
    return lambda app: DevProxy(app, assertions, header, cookie, names)


class DevProxy:
    """The filter itself, a WSGI application; `names[0]` is who one is without a choice."""

    def __init__(
        self, app: WSGIApplication, assertions: Assertions, header: str, cookie: str, names: tuple[str, ...]
    ) -> None:
        self._app, self._assertions, self._names = app, assertions, names
        self._variable = "HTTP_" + header.upper().replace("-", "_")
        self._cookie = cookie
        # Where the server looks for the settings.
        self.registry = getattr(app, "registry", None)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._answer(environ, start_response)
        except SecretsvcError as error:
            return _refuse(error, environ, start_response)

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        _require_this_machine(environ)
        path = environ.get("PATH_INFO", "")
        if path == PAGE.rstrip("/"):
            return _redirect(PAGE, start_response)
        if path.startswith(PAGE):
            return self._own(path, environ, start_response)
        self._assert_identity(environ)
        return self._app(environ, start_response)

    def _assert_identity(self, environ: WSGIEnvironment) -> None:
        """Replace what the client sent as an assertion; a request with a token of its own gets none."""
        identity = NOBODY if "HTTP_AUTHORIZATION" in environ else self._chosen(environ)
        for variable in (self._variable, "HTTP_X_DEV_IDENTITY"):
            environ.pop(variable, None)
        kept = [
            piece
            for piece in re.split("[;,]", environ.pop("HTTP_COOKIE", ""))
            if piece.strip() and self._cookie not in piece and CHOICE not in piece
        ]
        if kept:
            environ["HTTP_COOKIE"] = ";".join(kept).strip()
        if identity != NOBODY:
            environ[self._variable] = self._assertions.sign(identity)

    def _chosen(self, environ: WSGIEnvironment) -> str:
        header = environ.get("HTTP_X_DEV_IDENTITY")
        if header is not None:
            try:
                return _identity(header.encode("latin-1").decode())
            except ValueError:
                raise BadRequest("X-Dev-Identity names no identity.") from None
        for piece in re.split("[;,]", environ.get("HTTP_COOKIE", "")):
            name, _, value = piece.strip().partition("=")
            if name == CHOICE:
                try:
                    return _identity(unquote(value, errors="strict"))
                except ValueError:
                    break
        return self._names[0]

    def _own(self, path: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if path != PAGE or method not in ("GET", "POST"):
            raise NotFound()
        if method == "GET":
            return self._page("200 OK", "", environ, start_response)
        if cross_site(environ, None):
            raise Forbidden("Only this page itself may choose an identity.")
        try:
            identity = _submitted(environ)
        except ValueError:
            problem = "That is neither an e-mail address nor a service token's common name."
            return self._page("400 Bad Request", problem, environ, start_response)
        cookie = f"{CHOICE}={quote(identity, safe='@')}; Path=/; HttpOnly; SameSite=Strict"
        return _redirect("/", start_response, ("Set-Cookie", cookie))

    def _page(
        self, status: str, problem: str, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        body = render(self._chosen(environ), self._names, problem)
        start_response(status, _headers("text/html; charset=utf-8", body, POLICY))
        return [body]


def _configured(text: str) -> str:
    try:
        return _identity(text)
    except ValueError:
        raise ValueError(f"the development proxy's options name {text!r}, which is no identity") from None


def _identity(text: str) -> str:
    text = text.strip()
    if text.startswith(SERVICE):
        return SERVICE + exact_subject(text.removeprefix(SERVICE))
    if text != NOBODY:
        email_subject(text)
    # As it was typed: putting it in its normal form is the application's work.
    return text


def _require_this_machine(environ: WSGIEnvironment) -> None:
    try:
        client = ip_address(environ.get("REMOTE_ADDR", ""))
    except ValueError:
        raise Forbidden("The development proxy serves this machine only.") from None
    if isinstance(client, IPv6Address) and client.ipv4_mapped:
        client = client.ipv4_mapped
    # A page elsewhere can have its own name resolve to this machine: then the browser sends that name.
    if not client.is_loopback or not _LOCAL_HOST.fullmatch(environ.get("HTTP_HOST", "")):
        raise Forbidden("The development proxy serves this machine only.")


def _submitted(environ: WSGIEnvironment) -> str:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not 0 <= length <= MAX_FORM_BYTES:
        raise ValueError
    form = parse_qs(environ["wsgi.input"].read(length).decode(), errors="strict", max_num_fields=4)
    if "service" in form:
        return _identity(SERVICE + form["service"][0].strip())
    return _identity(form.get("identity", [""])[0])


def _headers(content_type: str, body: bytes, policy: str) -> list[tuple[str, str]]:
    return [
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", policy),
        *SECURITY_HEADERS,
    ]


def _redirect(location: str, start_response: StartResponse, *more: tuple[str, str]) -> Iterable[bytes]:
    headers = _headers("text/plain", b"", API_CONTENT_SECURITY_POLICY)
    start_response("303 See Other", [("Location", location), *more, *headers])
    return [b""]


def _refuse(
    error: SecretsvcError, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    identifier = request_id(environ.get("HTTP_X_REQUEST_ID"))
    body = json.dumps({"code": error.code, "message": error.message, "request_id": identifier}).encode()
    headers = _headers("application/json", body, API_CONTENT_SECURITY_POLICY)
    start_response(_STATUS[error.code], [*headers, (REQUEST_ID_HEADER, identifier)])
    return [body]
