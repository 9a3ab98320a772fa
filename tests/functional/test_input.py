"""What requests may hold (contract 2, the table of requests): bodies, queries, paths, methods."""

from __future__ import annotations

import tempfile
from itertools import product

import pytest
from server import exchange, served
from service import API, HEADER, arrange
from wsgi import call

PROJECTS = f"{API}/projects"
UNDER = f"{API}/projects/shop/environments/prod"
JSON = "application/json"
GOOD = b'{"slug":"new","name":"New"}'


@pytest.fixture
def send(admin, service):
    """A request of the administrator, byte for byte."""

    def send(method, target, body=b"", content_type=JSON, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        every = {HEADER: admin.token, **({"Content-Type": content_type} if body else {}), **named}
        return call(service.app, method, target, every, body)

    return send


def paths(answer):
    return [issue["path"] for issue in answer.json.get("issues", [])]


def nested(levels):
    """A body that is nested `levels` deep, itself included."""
    return b'{"slug":"new","name":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


NO_BODY_OF_OURS = [
    b" ",
    b"{",
    b"{}{}",
    b"[]",
    b"null",
    b'"text"',
    b"1",
    b"true",
    b'{"slug":"new","name":"New",}',
    b"{'slug':'new'}",
    b'{"slug":"new","name":"New"} // x',
    b'{"slug":"new","slug":"new","name":"New"}',
    b'{"slug":"new","name":"a","n\\u0061me":"b"}',
    b'{"slug":"new","name":{"a":1,"a":1}}',
    b'{"slug":"new","name":NaN}',
    b'{"slug":"new","name":-Infinity}',
    b'{"slug":"new","name":"\xff"}',
    b'{"slug":"new","name":"\xed\xa0\x80"}',
    b"\xef\xbb\xbf" + GOOD,
    GOOD.decode().encode("utf-16"),
    b'{"slug":"new","name":"line\nbreak"}',
    nested(33),
    nested(100_000),
    b"[" * 100_000,
    b'{"a":' * 100_000,
]


def test_what_is_no_strict_json_object_is_a_bad_request(send):
    for body in NO_BODY_OF_OURS:
        refused = send("POST", PROJECTS, body)
        assert (refused.status, refused.code) == (400, "BAD_REQUEST"), body[:80]
        assert "issues" not in refused.json, body[:80]


def test_a_body_that_must_be_there_may_not_be_missing(send):
    assert send("POST", PROJECTS, Content_Type=JSON).status == 400


def test_a_body_may_be_nested_thirty_two_levels_deep(send):
    assert (send("POST", PROJECTS, nested(32)).status, send("POST", PROJECTS, nested(33)).status) == (
        422,
        400,
    )


CONTENT_TYPES = [
    (JSON, 201),
    ("APPLICATION/JSON", 201),
    ("application/json; charset=utf-8", 201),
    ('application/json;charset="UTF-8"', 201),
    ("application/json; charset=latin-1", 400),
    ("application/json; charset=utf-16", 400),
    ("application/json-patch+json", 400),
    ("application/merge-patch+json", 400),
    ("text/json", 400),
    ("text/plain", 400),
    ("application/x-www-form-urlencoded", 400),
    ("multipart/form-data; boundary=x", 400),
    ("text/plain; application/json", 400),
    ("", 400),
]


def test_a_body_comes_as_json(send):
    for content_type, status in CONTENT_TYPES:
        assert send("POST", PROJECTS, GOOD, content_type).status == status, content_type
        send("DELETE", f"{PROJECTS}/new")


def test_a_body_comes_unpacked(send):
    for encoding, status in (("gzip", 400), ("br", 400), ("x", 400), ("identity", 201)):
        assert send("POST", PROJECTS, GOOD, Content_Encoding=encoding).status == status, encoding


ISSUES = [
    (b"{}", ["slug", "name"]),
    (b'{"slug":"new","name":"N","id":"x"}', ["id"]),
    (b'{"slug":"new","name":"N","created_at":1,"updated_at":1,"rev":1}', ["created_at", "rev", "updated_at"]),
    (b'{"slug":"new","name":"N","__proto__":{}}', ["__proto__"]),
    (b'{"slug":"new","name":"N","":1}', [""]),
    (b'{"slug":"new","name":"N","Name":"N"}', ["Name"]),
    (b'{"slug":null,"name":"N"}', ["slug"]),
    (b'{"slug":1,"name":"N"}', ["slug"]),
    (b'{"slug":["new"],"name":"N"}', ["slug"]),
    (b'{"slug":"New","name":"N"}', ["slug"]),
    (b'{"slug":"new ","name":"N"}', ["slug"]),
    (b'{"slug":"new\\n","name":"N"}', ["slug"]),
    (b'{"slug":"a--b","name":"N"}', ["slug"]),
    (b'{"slug":"-a","name":"N"}', ["slug"]),
    (b'{"slug":"","name":"N"}', ["slug"]),
    (b'{"slug":"' + b"a" * 65 + b'","name":"N"}', ["slug"]),
    (b'{"slug":"new","name":true}', ["name"]),
    (b'{"slug":"new","name":""}', ["name"]),
    (b'{"slug":"new","name":"\\t \\n"}', ["name"]),
    (b'{"slug":"new","name":"' + b"x" * 257 + b'"}', ["name"]),
    (b'{"slug":"new","name":"a\\u0000b"}', ["name"]),
    (b'{"slug":"new","name":"\\ud800"}', ["name"]),
    (b'{"slug":"new","name":"\\udc00\\ud800"}', ["name"]),
    (b'{"slug":"new","name":"N","description":"\\u0000"}', ["description"]),
    (b'{"slug":"new","name":"N","description":"' + b"x" * 1025 + b'"}', ["description"]),
    (b'{"slug":"new","name":"N","x\\ud800":1}', [""]),
]


def test_what_a_schema_rejects_is_named_by_its_path(send):
    for body, expected in ISSUES:
        refused = send("POST", PROJECTS, body)
        assert (refused.status, refused.code) == (422, "VALIDATION_FAILED"), body
        assert sorted(paths(refused)) == sorted(expected), body
        assert all(issue.keys() == {"path", "message"} for issue in refused.json["issues"])


def test_no_issue_repeats_what_was_sent(send):
    for body in (b'{"slug":"MARKER","name":1}', b'{"slug":"new","name":"N","description":["MARKER"]}'):
        assert b"MARKER" not in send("POST", PROJECTS, body).body
    assert b"MARKER" not in send("GET", f"{PROJECTS}/MARKER").body
    assert b"MARKER" not in send("GET", f"{PROJECTS}?limit=MARKER").body


INTEGERS = [
    ("0", 412),
    (str(2**53 - 1), 412),
    (str(2**53), 422),
    ("-1", 422),
    ("1.0", 422),
    ("1e0", 422),
    ("true", 422),
    ('"1"', 422),
    ("[1]", 422),
    ("9" * 400, 422),
    ("01", 400),
    ("+1", 400),
]


def test_an_integer_of_a_body_is_one(send):
    send("POST", f"{UNDER}/secrets:batch", b'{"mode":"merge","set":{"A":"x"}}')
    for number, status in INTEGERS:
        body = f'{{"mode":"merge","set":{{"A":"y"}},"expected_rev":{number}}}'.encode()
        assert send("POST", f"{UNDER}/secrets:batch", body).status == status, number


QUERIES = [
    ("limit=1", 200, None),
    ("limit=1000", 200, None),
    ("limit=0001", 200, None),
    ("", 200, None),
    ("limit=0", 422, "limit"),
    ("limit=1001", 422, "limit"),
    ("limit=-1", 422, "limit"),
    ("limit=%2B1", 422, "limit"),
    ("limit=%201", 422, "limit"),
    ("limit=1%0A", 422, "limit"),
    ("limit=1.0", 422, "limit"),
    ("limit=1e2", 422, "limit"),
    ("limit=0x1", 422, "limit"),
    ("limit=1_0", 422, "limit"),
    ("limit=%D9%A1", 422, "limit"),
    ("limit=%C2%B9", 422, "limit"),
    ("limit=", 422, "limit"),
    ("limit", 422, "limit"),
    ("limit=" + "9" * 5000, 422, "limit"),
    ("limit=1&limit=1", 422, "limit"),
    ("limit=1&li%6Dit=2", 422, "limit"),
    ("limit=1;cursor=x", 422, "limit"),
    ("offset=1", 422, "offset"),
    ("Limit=1", 422, "Limit"),
    ("cursor=", 422, "cursor"),
    ("cursor=x", 422, "cursor"),
    ("cursor=%7B00000000-0000-7000-8000-000000000000%7D", 422, "cursor"),
    ("cursor=00000000000070008000000000000000", 422, "cursor"),
    ("limit=%FF", 400, None),
    ("%FF=1", 400, None),
    ("limit=%ED%A0%80", 400, None),
    ("limit=\xff", 400, None),
    ("&".join(f"a{number}=1" for number in range(1000)), 400, None),
]


@pytest.mark.both_engines
def test_a_query_holds_known_parameters_once_each(send):
    for query, status, path in QUERIES:
        answered = send("GET", f"{PROJECTS}?{query}")
        assert answered.status == status, query[:80]
        assert status == 200 or paths(answered) == ([path] if path else []), query[:80]


def test_operations_without_parameters_take_none(send):
    for method, target in (
        ("GET", f"{PROJECTS}/shop"),
        ("DELETE", UNDER),
        ("GET", f"{API}/whoami"),
        ("GET", f"{API}/health"),
    ):
        refused = send(method, f"{target}?x=1")
        assert (refused.status, paths(refused)) == (422, ["x"]), target


KEY = f"{UNDER}/secrets"
AN_ID = "0190163d-8694-739b-aea5-966c26f8ad91"
PATHS = [
    (f"{PROJECTS}/", 404, None),
    (f"{PROJECTS}/shop/", 404, None),
    (f"{UNDER}/", 404, None),
    (f"{API}//projects", 404, None),
    (f"{PROJECTS}//shop", 404, None),
    (f"{API}/./projects", 404, None),
    (f"{PROJECTS}/shop/../shop", 404, None),
    (f"{PROJECTS}/%2e%2e/projects", 404, None),
    (f"{PROJECTS}/%2E", 404, None),
    (f"{API}/@@projects", 404, None),
    (f"{PROJECTS}/@@view", 404, None),
    (f"{API}/projects;x=1", 404, None),
    (f"{API}/Projects", 404, None),
    (f"{PROJECTS}/shop/nothing", 404, None),
    (f"{PROJECTS}/shop/environments/prod/nothing", 404, None),
    (f"{KEY}/KEY/versions/1", 404, None),
    (f"{KEY}/KEY/versions/", 404, None),
    (f"{KEY}:export/", 404, None),
    (f"{KEY}:nothing", 404, None),
    (f"{KEY}:export:export", 404, None),
    (f"{KEY}:batch", 404, None),
    ("/api/v1x", 404, None),
    ("/API/v1/projects", 404, None),
    (f"{PROJECTS}/Shop", 422, "project"),
    (f"{PROJECTS}/shop%00", 422, "project"),
    (f"{PROJECTS}/shop%0A", 422, "project"),
    (f"{PROJECTS}/%0Ashop", 422, "project"),
    (f"{PROJECTS}/sh%0Aop", 422, "project"),
    (f"{PROJECTS}/shop%0A%0A", 422, "project"),
    (f"{PROJECTS}/shop%0D%0A", 422, "project"),
    (f"{PROJECTS}/shop%0A/environments", 422, "project"),
    (f"{API}/p/shop%0A/e/prod", 422, "project"),
    (f"{API}/p/shop/e/prod%0A/secrets", 422, "env"),
    (f"{PROJECTS}/shop/environments/prod%0A", 422, "env"),
    (f"{PROJECTS}/shop/environments/pr%0Aod/secrets", 422, "env"),
    (f"{KEY}/K%0A", 422, "key"),
    (f"{KEY}/K%0A/versions", 422, "key"),
    (f"{KEY}/K%0A:reveal", 422, "key"),
    (f"{KEY}/K:reveal%0A", 422, "key"),
    (f"{API}/identities/x%0A/effective-permissions", 422, "id"),
    (f"{API}/identities/x%0Ay/effective-permissions", 422, "id"),
    (f"{API}/groups/%0A/members", 422, "id"),
    (f"{API}/groups/{AN_ID}/grants%0A", 404, None),
    (f"{API}/projects%0A", 404, None),
    (f"{API}/%0Aprojects", 404, None),
    (f"{API}/health%0A", 404, None),
    ("/api/%0Av1/projects", 404, None),
    (f"{PROJECTS}/%20shop", 422, "project"),
    (f"{PROJECTS}/shop;x", 422, "project"),
    (f"{PROJECTS}/{'a' * 65}", 422, "project"),
    (f"{PROJECTS}/{'a' * 64}", 404, None),
    (f"{PROJECTS}/caf%C3%A9", 422, "project"),
    (f"{PROJECTS}/shop%3Areveal", 422, "project"),
    (f"{PROJECTS}/shop/environments/a_b", 422, "env"),
    (f"{KEY}/1A", 422, "key"),
    (f"{KEY}/K:", 422, "key"),
    (f"{KEY}/:reveal", 422, "key"),
    (f"{KEY}/K:reveal:reveal", 422, "key"),
    (f"{KEY}/K:REVEAL", 422, "key"),
    (f"{KEY}/K:versions", 422, "key"),
    (f"{KEY}/K%00:reveal", 422, "key"),
    (f"{KEY}/%E2%84%AA:reveal", 422, "key"),
    (f"{KEY}/{'K' * 257}", 422, "key"),
    (f"{KEY}/{'K' * 256}", 404, None),
    (f"{API}/%FF", 400, None),
    (f"{PROJECTS}/%C3%28", 400, None),
    (f"{PROJECTS}/%ED%A0%80", 400, None),
]


def test_a_path_names_a_thing_or_is_refused(send):
    for target, status, path in PATHS:
        refused = send("GET", target)
        assert refused.status == status, target
        if target.startswith("/api/"):
            assert paths(refused) == ([path] if path else []), target


PARAMETERS = {
    "project": "shop",
    "env": "prod",
    "key": "KEY",
    **dict.fromkeys(("id", "identityId", "grantId"), AN_ID),
}


def test_a_newline_in_any_path_parameter_is_refused_by_the_name_of_the_parameter(send):
    described = send("GET", f"{API}/openapi.json").json["paths"]
    met = set()
    for path, methods in described.items():
        for method, name in product(methods, PARAMETERS):
            if f"{{{name}}}" not in path:
                continue
            odd = PARAMETERS | {name: "%0A".join(PARAMETERS[name])}
            refused = send(method.upper(), API + path.format(**odd))
            assert (refused.status, paths(refused)) == (422, [name]), (method, path)
            met.add(name)
    assert met == PARAMETERS.keys()


PAGES_WITH_NEWLINES = [
    ("/projects/sh%0Aop", 422),
    ("/projects/shop/environments/prod%0A/settings", 422),
    ("/projects/shop/environments/prod/secrets/K%0AEY", 422),
    (f"/identities/%0A{AN_ID}", 422),
    ("/%0A/projects", 404),
    ("/projects%0A/shop", 404),
    ("/static/%0A/x", 404),
]


def test_a_page_whose_address_has_a_newline_is_an_error_page(send):
    for target, status in PAGES_WITH_NEWLINES:
        refused = send("GET", target)
        assert (refused.status, refused.headers["content-type"]) == (status, "text/html; charset=utf-8"), (
            target
        )
        assert b"</main>" in refused.body


def test_an_escape_means_the_character(send):
    send("POST", f"{UNDER}/secrets:batch", b'{"mode":"merge","set":{"KEY":"x"}}')
    for odd, plain in (
        (f"{KEY}/KEY%3Areveal", f"{KEY}/KEY:reveal"),
        (f"{KEY}%3Aexport", f"{KEY}:export"),
        (f"{API}/%70rojects", PROJECTS),
        (f"{PROJECTS}%2Fshop", f"{PROJECTS}/shop"),
    ):
        assert send("GET", odd).status == 200
        assert send("GET", odd).body == send("GET", plain).body


def test_a_method_that_a_path_does_not_have_is_not_found(send):
    for target in (PROJECTS, f"{PROJECTS}/shop", f"{UNDER}/secrets:export", f"{API}/whoami"):
        for method in ("PUT", "OPTIONS", "TRACE", "PROPFIND", "BREW", "get"):
            refused = send(method, target)
            assert (refused.status, refused.code) == (404, "NOT_FOUND"), (method, target)


def test_a_method_cannot_be_overridden(send, service):
    for name in ("X_HTTP_Method_Override", "X_HTTP_Method", "X_Method_Override"):
        assert send("GET", f"{PROJECTS}/shop", **{name: "DELETE"}).status == 200
    assert send("GET", f"{PROJECTS}/shop?_method=DELETE").status == 422
    assert send("GET", f"{PROJECTS}/shop").status == 200


def test_a_body_over_the_limit_is_too_large(make_service):
    service = make_service(BODY_MAX_BYTES="100")
    admin = arrange(service)
    for size, status in ((100, 201), (101, 413)):
        body = GOOD + b" " * (size - len(GOOD))
        headers = {HEADER: admin.token, "Content-Type": JSON}
        answered = call(service.app, "POST", PROJECTS, headers, body)
        assert answered.status == status
    assert answered.code == "PAYLOAD_TOO_LARGE"
    assert call(service.app, "POST", PROJECTS, {"Content-Type": JSON}, body).status == 401


def test_a_chunked_body_over_the_limit_is_too_large(make_service):
    service = make_service(BODY_MAX_BYTES="100")
    admin = arrange(service)
    head = f"POST {PROJECTS} HTTP/1.1\r\nHost: localhost\r\n{HEADER}: {admin.token}\r\nConnection: close\r\n"
    statuses = []
    with served(service.app) as port:
        for size in (100, 101):
            body = GOOD + b" " * (size - len(GOOD))
            chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (size, body)
            answer = exchange(port, head.encode() + b"Content-Type: application/json\r\n" + chunked)
            statuses.append(int(answer.split()[1]))
    assert statuses == [201, 413]


def test_no_body_is_laid_down_on_disk(send, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not-there"))
    values = ",".join(f'"K{number}":"{"x" * 60_000}"' for number in range(5))
    assert (
        send("POST", f"{UNDER}/secrets:batch", f'{{"mode":"merge","set":{{{values}}}}}'.encode()).status
        == 200
    )
