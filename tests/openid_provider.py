"""A real OpenID provider: `oidc-provider` on node, in a process of its own on the loopback address.

Its tokens are asked for over HTTP, as people's browsers and machines do.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import (
    HTTPCookieProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from service import ADMIN
from toolchains import installed_by_npm, node_of

SOURCE = Path(__file__).parent / "issuers"
ANSWER_SECONDS, BRIEF_SECONDS = 60, 4
HOME = "https://secrets.example.com/callback"
ANN, CARL = "ann@example.com", "carl@example.com"
#: Carl has not shown that the address is his.
ACCOUNTS = {
    name: {"email": name, "email_verified": name != CARL} for name in (ADMIN, ANN, "bob@example.com", CARL)
}
#: What a client's ID tokens are signed with. Those of BRIEF soon expire; OTHER is not ours.
PAGES, BRIEF, OTHER = "pages", "pages-brief", "wiki"
PEOPLE = {PAGES: "RS256", BRIEF: "ES256", OTHER: "RS256"}
MACHINES = ("deploy", "backup")
AUDIENCE = "secretsvc"
#: Resource indicators: four ways to an access token, the last of another audience than ours.
BY_RSA, BY_EC, BRIEFLY, BILLING = (f"urn:{name}" for name in ("rsa", "ec", "briefly", "billing"))


def _resource(audience: str, alg: str, seconds: int) -> dict[str, Any]:
    return {
        "scope": "read",
        "audience": audience,
        "accessTokenTTL": seconds,
        "jwt": {"sign": {"alg": alg}},
    }


RESOURCES = {
    BY_RSA: _resource(AUDIENCE, "RS256", 600),
    BY_EC: _resource(AUDIENCE, "ES256", 600),
    BRIEFLY: _resource(AUDIENCE, "ES256", BRIEF_SECONDS),
    BILLING: _resource("billing", "RS256", 600),
}


def _client(client_id: str, **metadata: Any) -> dict[str, Any]:
    return {
        "client_id": client_id,
        "client_secret": _secret(client_id),
        "token_endpoint_auth_method": "client_secret_post",
        **metadata,
    }


def _secret(client_id: str) -> str:
    return f"the secret of {client_id}"


CLIENTS = [
    _client(name, redirect_uris=[HOME], id_token_signed_response_alg=alg) for name, alg in PEOPLE.items()
] + [
    _client(name, redirect_uris=[], response_types=[], grant_types=["client_credentials"])
    for name in MACHINES
]
CONFIGURATION = {
    "clients": CLIENTS,
    "accounts": ACCOUNTS,
    "resources": RESOURCES,
    "idTokenSeconds": {BRIEF: BRIEF_SECONDS},
}


class _UntilHome(HTTPRedirectHandler):
    """Follows the provider's redirects, and not the one that leads back to the client."""

    def redirect_request(self, req: Request, *rest: Any) -> Request | None:
        return None if rest[-1].startswith(HOME) else super().redirect_request(req, *rest)


class OpenIdProvider:
    """The provider under `issuer`, and whoever gets tokens of it; `pid` is its process."""

    def __init__(self, issuer: str, pid: int) -> None:
        self.issuer, self.pid = issuer, pid
        self.metadata: dict[str, Any] = self._call("/.well-known/openid-configuration")

    def environment(self, **settings: str) -> dict[str, str]:
        """The settings under which it vouches for people behind a proxy, and for the machine `deploy`."""
        common = {"ISSUER": self.issuer, "JWKS_URL": self.metadata["jwks_uri"]}
        return {
            **{f"ACCESS_{name}": value for name, value in common.items()},
            "ACCESS_AUDIENCE": f"{PAGES},{BRIEF}",
            "WORKLOAD_ISSUERS": "sso",
            **{f"WORKLOAD_SSO_{name}": value for name, value in common.items()},
            "WORKLOAD_SSO_AUDIENCE": AUDIENCE,
            "WORKLOAD_SSO_REQUIRE": f"client_id={MACHINES[0]}",
            **settings,
        }

    def publish(self, *generations: int) -> None:
        """Publishes the keys of these generations and no others; those of the first sign from now on."""
        self._call("/test/keys", json.dumps(generations).encode(), "PUT")

    @property
    def fetches(self) -> int:
        """How often its keys were fetched by secretsvc."""
        return self._call("/test/fetches")

    def machine(self, client_id: str = MACHINES[0], resource: str = BY_RSA) -> str:
        """An access token of the client credentials grant (RFC 6749, 4.4) for a resource (RFC 8707)."""
        form = {"grant_type": "client_credentials", "resource": resource}
        return self._token(client_id, form)["access_token"]

    def person(self, name: str, client_id: str = PAGES) -> str:
        """The ID token of somebody who logs in at a client, by the authorization code flow with PKCE."""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
        query = {
            "client_id": client_id,
            "response_type": "code",
            "redirect_uri": HOME,
            "scope": "openid email",
            "login_hint": name,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        code = self._code(f"{self.metadata['authorization_endpoint']}?{urlencode(query)}")
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        return self._token(client_id, {**form, "redirect_uri": HOME})["id_token"]

    @contextmanager
    def halted(self) -> Iterator[None]:
        """It accepts connections meanwhile, and answers nobody."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def _code(self, url: str) -> str:
        try:
            page = _opener(HTTPCookieProcessor(), _UntilHome()).open(url, timeout=ANSWER_SECONDS)
        except HTTPError as led_home:
            found = parse_qs(urlsplit(led_home.headers["Location"] or "").query)
            led_home.close()
            return found["code"][0]
        with page:
            raise AssertionError(page.read())

    def _token(self, client_id: str, form: Mapping[str, str]) -> dict[str, Any]:
        own = {"client_id": client_id, "client_secret": _secret(client_id)}
        path = urlsplit(self.metadata["token_endpoint"]).path
        return self._call(path, urlencode({**own, **form}).encode())

    def _call(self, path: str, body: bytes | None = None, method: str | None = None) -> Any:
        url = self.issuer + path
        request = Request(url, body, method=method)  # noqa: S310 - the loopback address
        with _opener().open(request, timeout=ANSWER_SECONDS) as answer:
            text = answer.read()
        return json.loads(text) if text else None


def _opener(*handlers: Any) -> OpenerDirector:
    """No proxy of whoever runs the suite stands between the test and its own processes."""
    return build_opener(ProxyHandler({}), *handlers)


@contextmanager
def openid_provider(directory: Path) -> Iterator[OpenIdProvider]:
    """A provider with its output in `directory`; skips the test where there is no node, and says so."""
    node = node_of("20.19")
    script = installed_by_npm(SOURCE) / "provider.js"
    with (directory / "provider.log").open("wb") as log:
        process = subprocess.Popen(
            [node, script, json.dumps(CONFIGURATION)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        issuer = process.stdout.readline().decode().strip()
        assert issuer, (directory / "provider.log").read_text()
        yield OpenIdProvider(issuer, process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
