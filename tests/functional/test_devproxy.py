from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import stat
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from service import ADMIN, Client, Maker

from secretsvc.devproxy import CHOICE, make_filter
from secretsvc.devproxy.signing import Assertions
from secretsvc.kernel.clock import now_ms

ISSUER, AUDIENCE = "https://access.test", "secretsvc-dev"
HEADER = "HTTP_PROXY_ACCESS_JWT_ASSERTION"


class Answer:
    """What one request came to: the proxy's own answer, or the environ that the application got."""

    def __init__(self, app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> None:
        self.status, self.headers, self.body = 0, {}, b""

        def start_response(status: str, headers: list[tuple[str, str]]) -> None:
            self.status, self.headers = int(status[:3]), dict(headers)

        self.body = b"".join(app(environ, start_response))
        self.seen = environ if self.body == b"application" else None

    @property
    def environ(self) -> dict[str, Any]:
        assert self.seen is not None, (self.status, self.body)
        return self.seen


class Proxy:
    """The filter before an application that keeps what it was given."""

    def __init__(self, directory: Path, **options: str) -> None:
        self.directory = directory
        settings = {"directory": str(directory), "issuer": ISSUER, "audience": AUDIENCE} | options
        self.app = make_filter({}, **settings)(self.behind)

    @staticmethod
    def behind(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [b"application"]

    def get(self, path: str = "/", method: str = "GET", body: bytes = b"", **variables: str) -> Answer:
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "localhost:6543",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            **variables,
        }
        return Answer(self.app, environ)

    def post(self, form: dict[str, str], **variables: str) -> Answer:
        return self.get("/.devproxy/", "POST", urlencode(form).encode(), **variables)

    def claims(self, answer: Answer) -> dict[str, Any]:
        """Verified as the application would, from the published keys alone."""
        token = answer.environ[HEADER]
        keys = jwt.PyJWKSet.from_json((self.directory / "jwks.json").read_text())
        key = keys[jwt.get_unverified_header(token)["kid"]]
        claims: dict[str, Any] = jwt.decode(
            token, key, algorithms=["ES256"], audience=AUDIENCE, issuer=ISSUER, options={"require": ["exp"]}
        )
        return claims


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    return Proxy(tmp_path / "dev", people="Bob@example.test, service:deploy-bot")


def test_without_a_choice_one_is_the_default_person(proxy: Proxy) -> None:
    claims = proxy.claims(proxy.get())
    assert claims["email"] == "admin@example.test"
    assert claims["sub"]
    assert claims["exp"] - claims["iat"] == 300
    assert "common_name" not in claims


def test_a_header_chooses_for_one_request_and_goes_no_further(proxy: Proxy) -> None:
    answer = proxy.get(HTTP_X_DEV_IDENTITY="bob@example.test", HTTP_COOKIE=f"{CHOICE}=eve%40example.test")
    assert proxy.claims(answer)["email"] == "bob@example.test"
    assert "HTTP_X_DEV_IDENTITY" not in answer.environ


def test_a_service_token_has_a_common_name_an_empty_subject_and_no_more(proxy: Proxy) -> None:
    claims = proxy.claims(proxy.get(HTTP_X_DEV_IDENTITY="service:deploy-bot"))
    assert claims["common_name"] == "deploy-bot"
    assert claims["sub"] == ""
    assert not {"email", "nbf"} & set(claims)


def test_a_service_token_may_have_a_name_with_spaces(proxy: Proxy) -> None:
    claims = proxy.claims(proxy.get(HTTP_X_DEV_IDENTITY="service:deploy  bot"))
    assert claims["common_name"] == "deploy  bot"


@pytest.mark.parametrize(
    "variables", [{"HTTP_X_DEV_IDENTITY": "nobody"}, {"HTTP_COOKIE": f"{CHOICE}=nobody"}]
)
def test_nobody_has_no_assertion_at_all(proxy: Proxy, variables: dict[str, str]) -> None:
    variables = {"HTTP_PROXY_ACCESS_JWT_ASSERTION": "forged", **variables}
    assert HEADER not in proxy.get(**variables).environ


@pytest.mark.parametrize("value", ["Bearer ssv_any", "Bearer ", ""])
def test_a_request_with_authorization_gets_no_assertion(proxy: Proxy, value: str) -> None:
    answer = proxy.get(
        HTTP_AUTHORIZATION=value,
        HTTP_PROXY_ACCESS_JWT_ASSERTION="forged",
        HTTP_X_DEV_IDENTITY="bob@example.test",
        HTTP_COOKIE=f"a=1; Proxy_Authorization=forged; {CHOICE}=eve%40example.test",
    )
    assert answer.environ["HTTP_AUTHORIZATION"] == value
    assert not {HEADER, "HTTP_X_DEV_IDENTITY"} & set(answer.environ)
    assert answer.environ["HTTP_COOKIE"] == "a=1"


def test_a_token_is_judged_behind_the_proxy_as_in_production(make_service: Maker, tmp_path: Path) -> None:
    development = {"ACCESS_ISSUER": ISSUER, "ACCESS_AUDIENCE": AUDIENCE, "SERVICE_TOKENS": "on"}
    service = make_service(**development, ACCESS_JWKS_URL=f"file:{tmp_path}/jwks.json")
    options = {"directory": str(tmp_path), "issuer": ISSUER, "audience": AUDIENCE, "identity": ADMIN}
    app = make_filter({}, **options)(service.app)
    admin = Client(app, None)
    admin.app.extra_environ = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:6543"}
    made = admin.post("/identities", {"kind": "service", "subject": "deploy"}, 201).json
    later = {"name": "here", "expires_at": now_ms() + 60_000}
    token = admin.post(f"/identities/{made['id']}/tokens", later, 201).json["token"]

    def whoami(token: str, status: int) -> Any:
        return admin.get("/whoami", status, headers={"Authorization": f"Bearer {token}"})

    assert whoami(token, 200).json["identity"]["subject"] == "deploy"
    whoami(token[:-1] + "x", 401)
    whoami("ssv_bad", 401)


@pytest.mark.parametrize(
    "text", ["", " ", "bob", "service:", "a@b@c", "bob@example.test\0", "\xff@x", "service:a\tb"]
)
def test_a_header_that_names_no_identity_is_a_bad_request(proxy: Proxy, text: str) -> None:
    answer = proxy.get(HTTP_X_DEV_IDENTITY=text, HTTP_X_REQUEST_ID="mine")
    assert answer.status == 400
    envelope = json.loads(answer.body)
    assert envelope == {
        "code": "BAD_REQUEST",
        "message": "X-Dev-Identity names no identity.",
        "request_id": "mine",
    }
    assert answer.headers["X-Request-Id"] == "mine"


def test_what_the_client_sent_as_an_assertion_is_always_replaced(proxy: Proxy) -> None:
    answer = proxy.get(**{HEADER: "forged"})
    assert answer.environ[HEADER] != "forged"
    assert proxy.claims(answer)["email"] == "admin@example.test"


@pytest.mark.parametrize(
    "cookies",
    [
        "Proxy_Authorization=forged",
        "a=1; Proxy_Authorization=forged; b=2",
        "a=1;Proxy_Authorization = forged;b=2",
        "a=1, Proxy_Authorization=forged; b=2; Proxy_Authorization=again",
        f"a=1; {CHOICE}=nobody; x Proxy_Authorization=forged",
    ],
)
def test_the_fallback_cookie_is_dropped_and_the_others_stay(proxy: Proxy, cookies: str) -> None:
    rest = proxy.get(HTTP_COOKIE=cookies).environ.get("HTTP_COOKIE", "")
    assert "forged" not in rest
    assert "again" not in rest
    assert CHOICE not in rest
    assert all(part in rest for part in ("a=1", "b=2") if part in cookies)


def test_an_unreadable_choice_in_a_cookie_counts_as_none(proxy: Proxy) -> None:
    for value in ("%FF", "bob", ""):
        answer = proxy.get(HTTP_COOKIE=f"{CHOICE}={value}")
        assert proxy.claims(answer)["email"] == "admin@example.test"


def test_the_names_of_header_and_cookie_can_be_a_vendors_own(tmp_path: Path) -> None:
    vendor = Proxy(tmp_path, header="Cf-Access-Jwt-Assertion", cookie="CF_Authorization", identity="nobody")
    answer = vendor.get(HTTP_CF_ACCESS_JWT_ASSERTION="forged", HTTP_COOKIE="CF_Authorization=forged")
    assert not {"HTTP_CF_ACCESS_JWT_ASSERTION", "HTTP_COOKIE"} & set(answer.environ)
    answer = vendor.get(HTTP_X_DEV_IDENTITY="bob@example.test")
    assert answer.environ["HTTP_CF_ACCESS_JWT_ASSERTION"].count(".") == 2


@pytest.mark.parametrize(
    "form",
    [
        {"identity": "Bob@example.test"},
        {"service": "a;b,c%41é"},
        {"service": "a  b c"},
        {"identity": "nobody"},
    ],
)
def test_a_choice_made_on_the_page_lasts_in_a_cookie(proxy: Proxy, form: dict[str, str]) -> None:
    answer = proxy.post(form, HTTP_SEC_FETCH_SITE="same-origin")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    after = proxy.get(HTTP_COOKIE=cookie)
    if "nobody" in form.values():
        assert HEADER not in after.environ
    else:
        claims = proxy.claims(after)
        assert claims.get("email", claims.get("common_name")) in form.values()


@pytest.mark.parametrize(
    "form", [{}, {"identity": "bob"}, {"service": ""}, {"identity": "a\r\nSet-Cookie: b@c"}]
)
def test_a_choice_of_nobody_in_particular_is_answered_by_the_page(proxy: Proxy, form: dict[str, str]) -> None:
    answer = proxy.post(form)
    assert answer.status == 400
    assert b'role="alert"' in answer.body
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("length", ["8193", "-1", "x", "\xb2"])
def test_a_form_of_an_unreasonable_length_is_not_read(proxy: Proxy, length: str) -> None:
    assert proxy.post({"identity": "bob@example.test"}, CONTENT_LENGTH=length).status == 400


@pytest.mark.parametrize(
    "variables",
    [
        {"HTTP_SEC_FETCH_SITE": "cross-site"},
        {"HTTP_SEC_FETCH_SITE": "same-site", "HTTP_ORIGIN": "http://localhost:6543"},
        {"HTTP_ORIGIN": "http://evil.test"},
        {"HTTP_ORIGIN": "null"},
        {"HTTP_ORIGIN": "http://localhost:8080"},
        {"HTTP_ORIGIN": "http://[evil"},
        {"HTTP_ORIGIN": "gopher://localhost:6543"},
        {"HTTP_ORIGIN": "http://localhost:6543/"},
    ],
)
def test_another_site_cannot_choose(proxy: Proxy, variables: dict[str, str]) -> None:
    answer = proxy.post({"identity": "bob@example.test"}, **variables)
    assert answer.status == 403
    assert json.loads(answer.body)["code"] == "FORBIDDEN"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "variables", [{}, {"HTTP_ORIGIN": "http://localhost:6543"}, {"HTTP_SEC_FETCH_SITE": "none"}]
)
def test_the_page_itself_and_clients_that_are_no_browser_can_choose(
    proxy: Proxy, variables: dict[str, str]
) -> None:
    assert proxy.post({"identity": "bob@example.test"}, **variables).status == 303


@pytest.mark.parametrize(
    ("path", "method"), [("/.devproxy/x", "GET"), ("/.devproxy/anonymous", "GET"), ("/.devproxy/", "DELETE")]
)
def test_there_is_one_page_and_nothing_beside_it(proxy: Proxy, path: str, method: str) -> None:
    answer = proxy.get(path, method)
    assert answer.status == 404
    assert set(json.loads(answer.body)) == {"code", "message", "request_id"}


def test_the_page_without_its_slash_leads_to_the_page(proxy: Proxy) -> None:
    answer = proxy.get("/.devproxy")
    assert (answer.status, answer.headers["Location"]) == (303, "/.devproxy/")


@pytest.mark.parametrize("path", ["/", "/.devproxy/", "/.devproxy"])
@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.5", "::2", "::ffff:10.0.0.1", "", "localhost"])
def test_clients_on_other_machines_are_refused(proxy: Proxy, path: str, address: str) -> None:
    answer = proxy.get(path, REMOTE_ADDR=address)
    assert answer.status == 403
    assert json.loads(answer.body)["code"] == "FORBIDDEN"
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "host", ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "", "localhost:6543\n"]
)
@pytest.mark.parametrize("path", ["/", "/.devproxy/"])
def test_a_host_that_only_resolves_to_this_machine_is_refused(proxy: Proxy, path: str, host: str) -> None:
    assert proxy.get(path, HTTP_HOST=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:6543", "[::1]", "[::1]:6543"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_served_under_all_its_names(proxy: Proxy, host: str, address: str) -> None:
    assert proxy.get(HTTP_HOST=host, REMOTE_ADDR=address).status == 200


class Names(HTMLParser):
    """Every element's name and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_names_on_the_page_stay_text(tmp_path: Path) -> None:
    name = "\"><script>alert('1')</script>&amp;@example.test"
    page = Proxy(tmp_path, people=name).get("/.devproxy/", HTTP_X_DEV_IDENTITY=name).body.decode()
    elements = Names(page).elements
    assert "script" not in {tag for tag, _ in elements}
    assert name in [attributes.get("value") for _, attributes in elements]
    assert page.count("&lt;script&gt;") == 3


def test_the_page_shows_who_one_is_and_offers_everybody_once(proxy: Proxy) -> None:
    answer = proxy.get("/.devproxy/", HTTP_COOKIE=f"{CHOICE}=eve%40example.test")
    assert answer.status == 200
    assert b"<strong>eve@example.test</strong>" in answer.body
    offered = [
        attributes["value"]
        for tag, attributes in Names(answer.body.decode()).elements
        if "value" in attributes
    ]
    assert offered == ["admin@example.test", "Bob@example.test", "service:deploy-bot", "nobody"]


def test_the_page_may_run_nothing_and_load_nothing(proxy: Proxy) -> None:
    answer = proxy.get("/.devproxy/")
    page, policy = answer.body.decode(), answer.headers["Content-Security-Policy"]
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
    assert len(style) == 1
    assert not re.search(r"<script|style=|\son\w+=|src=|https?:", page)
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_key_is_the_owners_alone_and_the_same_at_the_next_start(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "dev"
    first, keys = Assertions(directory, ISSUER, AUDIENCE), (directory / "jwks.json").read_bytes()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((directory / "jwks.json").stat().st_mode) == 0o600
    assert {file.name for file in directory.iterdir()} == {"key.pem", "jwks.json"}
    again = Assertions(directory, ISSUER, AUDIENCE)
    assert again.kid == first.kid
    assert (directory / "jwks.json").read_bytes() == keys
    assert set(json.loads(keys)["keys"][0]) == {"kty", "crv", "x", "y", "kid", "alg", "use"}


def test_first_starts_at_the_same_moment_agree_on_one_key(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def start(directory: Path) -> str:
        barrier.wait()
        return Assertions(directory, ISSUER, AUDIENCE).kid

    with ThreadPoolExecutor(8) as pool:
        for attempt in range(10):
            directory = tmp_path / str(attempt)
            kids = set(pool.map(start, [directory] * 8))
            assert kids == {json.loads((directory / "jwks.json").read_text())["keys"][0]["kid"]}
            assert {file.name for file in directory.iterdir()} == {"key.pem", "jwks.json"}


def test_an_assertion_is_used_again_until_shortly_before_it_expires(tmp_path: Path) -> None:
    now = 1_000_000.0
    assertions = Assertions(tmp_path, ISSUER, AUDIENCE, lambda: now)
    first = assertions.sign("bob@example.test")
    now += 240
    assert assertions.sign("bob@example.test") == first
    assert assertions.sign("eve@example.test") != first
    now += 1
    later = assertions.sign("bob@example.test")
    assert later != first
    assert jwt.decode(later, options={"verify_signature": False})["exp"] == 1_000_241 + 300


def test_assertions_are_not_kept_without_bound(tmp_path: Path) -> None:
    assertions = Assertions(tmp_path, ISSUER, AUDIENCE)
    for number in range(300):
        assertions.sign(f"service:{number}")
    assert len(assertions._signed) <= 256


@pytest.mark.parametrize("options", [{"identity": "bob"}, {"people": "bob@example.test,service:"}])
def test_a_configured_identity_that_is_none_stops_the_start(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no identity"):
        Proxy(tmp_path, **options)


def test_an_option_that_does_not_exist_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        Proxy(tmp_path, verify="false")
