"""Headers and the error envelope, on whatever is answered (specification, "Request ids", "Errors")."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from answer_headers import PLAINTEXT_HEADERS, SECURITY_HEADERS
from service import API, HEADER, arrange
from wsgi import call

from secretsvc.web.headers import PAGE_CONTENT_SECURITY_POLICY

UNDER = f"{API}/projects/shop/environments/prod"
CROSS = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"}
NOBODY = {HEADER: ""}
OUTCOMES = [
    ("GET", f"{API}/health", b"", {}, 200),
    ("HEAD", f"{API}/health", b"", {}, 200),
    ("GET", f"{API}/whoami", b"", {}, 200),
    ("GET", f"{API}/projects", b"", {"Origin": "https://evil.example.com"}, 200),
    ("POST", f"{API}/projects", b'{"slug":"new","name":"New"}', {}, 201),
    ("DELETE", f"{API}/projects/shop", b"", {}, 204),
    ("GET", f"{UNDER}/secrets/KEY", b"", {}, 200),
    ("GET", f"{UNDER}/secrets:export?format=env", b"", {}, 200),
    ("POST", f"{API}/projects", b"{", {}, 400),
    ("GET", f"{API}/%FF", b"", {}, 400),
    ("GET", f"{API}/projects", b"", NOBODY, 401),
    ("GET", "/", b"", NOBODY, 401),
    ("DELETE", f"{API}/projects/shop", b"", CROSS, 403),
    ("OPTIONS", f"{API}/projects", b"", CROSS, 403),
    ("OPTIONS", f"{API}/projects", b"", {}, 404),
    ("GET", f"{API}/nothing", b"", {}, 404),
    ("GET", "/nothing", b"", {}, 404),
    ("POST", f"{API}/projects", b'{"slug":"shop","name":"S"}', {}, 409),
    ("POST", f"{UNDER}/secrets:batch", b'{"mode":"merge","expected_rev":9}', {}, 412),
    ("POST", f"{API}/projects", b'{"slug":"new","name":"' + b"x" * 3000 + b'"}', {}, 413),
    ("GET", f"{API}/projects?x=1", b"", {}, 422),
]


@pytest.fixture
def send(make_service):
    service = make_service(BODY_MAX_BYTES="2000")
    admin = arrange(service)
    admin.post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": {"KEY": "x"}})

    def send(method, target, body=b"", headers=None):
        every = {HEADER: admin.token, "Content-Type": "application/json", **(headers or {})}
        return call(service.app, method, target, every, body)

    send.service = service
    return send


def assert_dressed(answer):
    names = [name.lower() for name, _ in answer.header_list]
    for name, value in SECURITY_HEADERS.items():
        assert names.count(name) == 1, name
        assert answer.headers[name] == value
    assert names.count("x-request-id") == 1
    assert not [name for name in names if name.startswith("access-control-")]
    assert not {"server", "x-powered-by", "set-cookie"} & set(names)
    assert "no-store" in answer.headers["cache-control"]


def assert_envelope(answer):
    assert answer.headers["content-type"].startswith("application/json")
    body = answer.json
    assert (
        {"code", "message", "request_id"}
        <= body.keys()
        <= {"code", "message", "request_id", "hint", "issues"}
    )
    assert body["request_id"] == answer.headers["x-request-id"]
    assert ("issues" in body) == (body["code"] == "VALIDATION_FAILED")
    assert all(isinstance(body[name], str) and body[name] for name in body.keys() - {"issues"})


def assert_page(answer):
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == PAGE_CONTENT_SECURITY_POLICY
    assert f"request <code>{answer.headers['x-request-id']}</code>".encode() in answer.body


def test_every_outcome_has_the_headers_and_every_error_the_envelope_or_a_page(send):
    # The deletion comes last: others need what it deletes.
    for method, target, body, headers, status in sorted(OUTCOMES, key=lambda row: row[4] == 204):
        answered = send(method, target, body, headers)
        assert answered.status == status, target
        assert_dressed(answered)
        if status >= 400 and target.startswith(f"{API}/"):
            assert_envelope(answered)
        elif status >= 400:
            assert_page(answered)


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({"BOOTSTRAP_ADMINS": ""}, 503),
        ({"ACCESS_JWKS_URL": "file:///nowhere/jwks.json"}, 503),
        ({"MASTER_KEY": "x"}, 500),
        ({"RATE_LIMIT": "1/day"}, 429),
        ({"SQLALCHEMY.URL": "sqlite:////nowhere/at/all.sqlite"}, 500),
    ],
    ids=str,
)
def test_failures_have_them_too(make_service, settings, status):
    service = make_service(**settings)
    target = f"{API}/health" if "MASTER_KEY" in settings else f"{API}/whoami"
    for _ in range(2):
        answered = call(service.app, "GET", target, {HEADER: service.issuer.sign("root@example.com")})
    assert answered.status == status
    assert_dressed(answered)
    assert_envelope(answered)


def test_an_unforeseen_failure_tells_nothing(make_service):
    service = make_service(**{"SQLALCHEMY.URL": "sqlite:////nowhere/marker.sqlite"})
    answered = call(service.app, "GET", f"{API}/whoami", {HEADER: service.issuer.sign("root@example.com")})
    expected = {"code": "INTERNAL", "message": "An unexpected error occurred."}
    assert {**answered.json, **expected} == answered.json
    assert answered.json.keys() == {"code", "message", "request_id"}


def test_a_request_id_of_the_pattern_is_echoed(send):
    for offered in ("a", "A.b_c-9", "0" * 64, "..", "-"):
        answered = send("GET", f"{API}/nothing", headers={"X-Request-Id": offered})
        assert answered.headers["x-request-id"] == answered.json["request_id"] == offered


def test_another_request_id_is_replaced(send):
    for offered in (
        "",
        " ",
        "0" * 65,
        "a b",
        " a",
        "a\n",
        "a\r\nX-Evil: 1",
        "a,b",
        "a/b",
        "\xe9",
        "a\x00",
        "<b>",
    ):
        answered = send("GET", f"{API}/nothing", headers={"X-Request-Id": offered})
        made = answered.headers["x-request-id"]
        assert made == answered.json["request_id"] != offered
        assert UUID(made).version == 7
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", made)


def test_each_request_has_an_id_of_its_own(send):
    ids = [send("GET", f"{API}/health").headers["x-request-id"] for _ in range(5)]
    assert len(set(ids)) == 5


def test_the_request_id_is_on_every_row_that_the_request_produces(send):
    service = send.service
    rows = {
        "made": ("POST", f"{API}/projects", b'{"slug":"new","name":"New"}'),
        "read": ("GET", f"{UNDER}/secrets/KEY", b""),
        "wrote": ("POST", f"{UNDER}/secrets:batch", b'{"mode":"merge","set":{"A":"x"}}'),
    }
    for name, (method, target, body) in rows.items():
        send(method, target, body, {"X-Request-Id": name})
    service.user("eve@example.com").get("/projects/shop", 404, headers={"X-Request-Id": "eve"})
    found = [(row["request_id"], row["action"]) for row in service.audit()][-5:]
    assert found == [
        ("made", "project.create"),
        ("read", "secret.reveal"),
        ("wrote", "secret.batch"),
        ("eve", "identity.create"),
        ("eve", "authz.project.reader"),
    ]


VALUES = ["/secrets/KEY", "/secrets/KEY:reveal", "/secrets:export"]
VALUE_OUTCOMES = [
    ("", {}, 200),
    ("", NOBODY, 401),
    ("", CROSS, 403),
    ("?reason=nonsense", {}, 422),
    ("?x=%FF", {}, 400),
]


@pytest.mark.parametrize("rest", VALUES)
def test_routes_that_return_values_say_so_to_every_cache(send, env_path, rest):
    base = API + env_path.format(p="shop", e="prod")
    for query, headers, status in VALUE_OUTCOMES:
        answered = send("GET", base + rest + query, headers=headers)
        assert (answered.status, answered.headers | PLAINTEXT_HEADERS) == (status, answered.headers)
        names = [name.lower() for name, _ in answered.header_list]
        assert all(names.count(name) == 1 for name in PLAINTEXT_HEADERS)
    absent = send("GET", API + env_path.format(p="shop", e="nope") + rest)
    assert (absent.status, absent.headers | PLAINTEXT_HEADERS) == (404, absent.headers)


def test_no_other_route_says_so(send):
    for rest in ("", "/secrets", "/secrets/KEY/versions"):
        assert "edge-cdn-cache-control" not in send("GET", UNDER + rest).headers


def test_the_plaintext_headers_have_the_deployments_names(make_service):
    names = {"ACCESS_HEADER": "Cf-Access-Jwt-Assertion", "EDGE_CACHE_HEADER": "Cloudflare-CDN-Cache-Control"}
    refused = call(make_service(**names).app, "GET", f"{UNDER}/secrets/KEY")
    assert refused.headers["vary"] == "Cf-Access-Jwt-Assertion"
    assert refused.headers["cloudflare-cdn-cache-control"] == "no-store"
    assert "edge-cdn-cache-control" not in refused.headers


@pytest.mark.parametrize("host", ["evil.example.com", "localhost:80"])
def test_a_location_is_relative_whatever_the_host(send, host):
    made = send("POST", f"{API}/projects", b'{"slug":"new","name":"New"}', {"Host": host})
    assert made.headers["location"] == f"{API}/projects/new"
