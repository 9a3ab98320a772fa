"""Requests that a browser sends for another site (contract 3.15, 4.10)."""

from __future__ import annotations

from itertools import product

import pytest
from service import API, HEADER
from wsgi import call

HOST = "secrets.example.com"
ALLOWED = [
    {},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": f"https://{HOST}"},
    {"Origin": f"http://{HOST}"},
    {"Origin": f"https://{HOST.upper()}"},
    {"Origin": f"HTTPS://{HOST}"},
    {"Origin": f"https://{HOST}:443"},
    {"Origin": f"http://{HOST}:80"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example.com"},
    {"Sec-Fetch-Site": "none", "Origin": "null"},
    {"Sec-Fetch-Site": "same-origin", "Origin": f"https://{HOST}"},
]
REFUSED = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "Same-Origin "},
    {"Sec-Fetch-Site": "nonsense"},
    {"Sec-Fetch-Site": "cross-site", "Origin": f"https://{HOST}"},
    {"Origin": "https://evil.example.com"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": HOST},
    {"Origin": f"https://{HOST}:8443"},
    {"Origin": f"https://{HOST}.evil.example.com"},
    {"Origin": f"https://evil.example.com/{HOST}"},
    {"Origin": f"https://{HOST}@evil.example.com"},
    {"Origin": "://"},
    {"Origin": f"https://{HOST}:80"},
    {"Origin": f"http://{HOST}:443"},
    {"Origin": f"gopher://{HOST}"},
    {"Origin": f"ws://{HOST}"},
    {"Origin": f"chrome-extension://{HOST}"},
    {"Origin": f"file://{HOST}"},
    {"Origin": f"https:{HOST}"},
    {"Origin": f"https:///{HOST}"},
    {"Origin": f"https://{HOST}/"},
    {"Origin": f"https://{HOST}/x"},
    {"Origin": f"https://{HOST}?"},
    {"Origin": f"https://{HOST}#"},
    {"Origin": f"https://user@{HOST}"},
    {"Origin": f"https://{HOST}:"},
    {"Origin": f"https://{HOST}:65979"},
    {"Origin": f"https://{HOST}:+443"},
    {"Origin": f"https://{HOST}."},
    {"Origin": f"https://{HOST} "},
    {"Origin": f" https://{HOST}"},
    {"Origin": f"https://{HOST}, https://{HOST}"},
    {"Origin": f"https://{HOST} https://{HOST}"},
    {"Origin": "https://secret\u017f.example.com"},
]
UNDER = f"{API}/projects/shop/environments/prod"
UNSAFE = [
    ("POST", f"{API}/projects", b'{"slug":"new","name":"New"}', 201),
    ("PATCH", f"{API}/projects/shop", b'{"name":"New"}', 200),
    ("DELETE", f"{API}/projects/shop", b"", 204),
    ("POST", f"{UNDER}/secrets:batch", b'{"mode":"merge"}', 200),
    ("PUT", f"{API}/projects/shop", b"", 404),
    ("POST", f"{API}/nothing", b"", 404),
]
READS_OF_VALUES = [
    ("GET", f"{UNDER}/secrets/KEY", b"", 200),
    ("GET", f"{UNDER}/secrets/KEY:reveal", b"", 200),
    ("GET", f"{UNDER}/secrets:export", b"", 200),
    ("GET", f"{API}/p/shop/e/prod/secrets/KEY", b"", 200),
    ("HEAD", f"{UNDER}/secrets/KEY", b"", 200),
]
OTHER_READS = [
    ("GET", f"{API}/projects", b"", 200),
    ("GET", f"{UNDER}/secrets", b"", 200),
    ("GET", f"{UNDER}/secrets/KEY/versions", b"", 200),
    ("GET", f"{API}/health", b"", 200),
]


@pytest.fixture
def send(admin, service):
    """Sends a request of the tables with headers of its browser."""
    admin.post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": {"KEY": "x"}})

    def send(request, headers, carrier=HEADER, **environ):
        method, target, body, _ = request
        proof = f"Proxy_Authorization={admin.token}" if carrier == "Cookie" else admin.token
        every = {"Host": HOST, "Content-Type": "application/json", carrier: proof, **headers}
        return call(service.app, method, target, every, body, **environ)

    return send


def test_requests_of_the_same_site_or_of_no_browser_pass(send):
    for headers, request in product(ALLOWED, (*READS_OF_VALUES, UNSAFE[1], UNSAFE[3])):
        assert send(request, headers).status == request[3], (request, headers)


@pytest.mark.slow
def test_unsafe_requests_and_reads_of_values_are_refused_to_other_sites(send, service):
    before = len(service.audit())
    for headers, request in product(REFUSED, (*UNSAFE, *READS_OF_VALUES)):
        refused = send(request, headers)
        assert refused.status == 403, (request, headers)
        assert request[0] == "HEAD" or refused.code == "FORBIDDEN"
    assert len(service.audit()) == before


def test_reads_without_values_stay_possible(send):
    for headers, request in product(REFUSED, OTHER_READS):
        assert send(request, headers).status == request[3], (request, headers)


@pytest.mark.parametrize("carrier", [HEADER, "Cookie"])
def test_what_carried_the_assertion_makes_no_difference(send, carrier):
    hostile = {"Sec-Fetch-Site": "cross-site"}
    for request in (UNSAFE[0], READS_OF_VALUES[0]):
        assert send(request, hostile, carrier).status == 403
    assert send(READS_OF_VALUES[0], {}, carrier).status == 200


HOSTS = [
    ("secrets.example.com:443", "https://secrets.example.com", True),
    ("secrets.example.com:443", "http://secrets.example.com", False),
    ("secrets.example.com:80", "http://secrets.example.com", True),
    ("Secrets.Example.Com:8443", "https://secrets.example.com:8443", True),
    ("secrets.example.com:8443", "https://secrets.example.com", False),
    ("[::1]:6543", "http://[::1]:6543", True),
    ("[::1]", "http://[::1]:80", True),
    ("[2001:DB8::1]", "https://[2001:db8::1]", True),
    ("[::1]:6543", "http://[::1]", False),
    ("[::1]", "http://[::2]", False),
    ("[::1]", "http://::1", False),
    ("[::1", "http://[::1", False),
    ("127.0.0.1:6543", "http://127.0.0.1:6543", True),
    ("secrets.example.com:x", "https://secrets.example.com:x", False),
    ("user@secrets.example.com", "https://user@secrets.example.com", False),
    ("secrets.example.com/", "https://secrets.example.com/", False),
    ("null", "null", False),
]


def test_host_and_port_are_compared_with_the_schemes_own_port_filled_in_on_both_sides(send):
    for host, origin, same in HOSTS:
        status = send(UNSAFE[1], {"Host": host, "Origin": origin}).status
        assert status == (200 if same else 403), (host, origin)


PUBLIC = [
    ({}, True),
    ({"Origin": f"https://{HOST}"}, True),
    ({"Origin": f"https://{HOST}:443"}, True),
    ({"Origin": f"https://{HOST.upper()}"}, True),
    ({"Origin": f"https://{HOST}", "Host": "10.0.0.7:6543"}, True),
    ({"Origin": f"https://{HOST}", "Host": ""}, True),
    ({"Origin": f"http://{HOST}"}, False),
    ({"Origin": f"http://{HOST}:443"}, False),
    ({"Origin": f"https://{HOST}:8443", "Host": f"{HOST}:8443"}, False),
    ({"Origin": "https://evil.example.com", "Host": "evil.example.com"}, False),
    ({"Origin": "null"}, False),
    ({"Origin": ""}, False),
    ({"Origin": "https://evil.example.com", "Sec-Fetch-Site": "same-origin"}, True),
    ({"Origin": f"https://{HOST}", "Sec-Fetch-Site": "cross-site"}, False),
]


def test_where_the_public_origin_is_known_an_origin_must_equal_it(admin, make_service):
    service = make_service(PUBLIC_ORIGIN=f"https://{HOST}")
    every = {"Host": HOST, "Content-Type": "application/json", HEADER: admin.token}
    for headers, same in PUBLIC:
        answered = call(service.app, "PATCH", UNSAFE[1][1], every | headers, UNSAFE[1][2])
        assert answered.status == (200 if same else 403), headers


def test_an_origin_is_another_site_where_no_host_is_named(send):
    for origin in ("null", "https://evil.example.com", ""):
        assert send(UNSAFE[0], {"Origin": origin, "Host": ""}).status == 403


def test_whoever_is_unknown_gets_401_first(service):
    hostile = {"Sec-Fetch-Site": "cross-site"}
    assert call(service.app, "POST", f"{API}/projects", hostile).status == 401


def test_a_preflight_gets_no_permission(send):
    asked = {"Origin": "https://evil.example.com", "Access-Control-Request-Method": "POST"}
    answered = send(("OPTIONS", f"{API}/projects", b"", 0), asked)
    assert answered.status == 403
    assert not [name for name in answered.headers if name.startswith("access-control")]


def test_a_comparison_is_answered_to_other_sites_and_no_page_of_theirs_can_read_it(send):
    """The threat model says so: it gives no value away, and costs what a comparison costs."""
    compare = ("GET", f"{UNDER}/secrets:compare?rev=0", b"", 200)
    answer = send(compare, {"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert not any(name.startswith("access-control-") for name in answer.headers)
