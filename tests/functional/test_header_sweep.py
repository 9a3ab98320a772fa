"""The headers of every operation, whatever comes of it (specification, "Request ids", contract 3.14)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from access_expectations import ENV, ROUTES, SPELLINGS, Route, fill
from access_matrix import World, make_world

from secretsvc.web.headers import API_CONTENT_SECURITY_POLICY, SECURITY_HEADERS
from secretsvc.web.openapi.document import endpoints

PLAINTEXT = {"getSecret", "revealSecret", "exportSecrets"}
BEYOND_THE_MATRIX = [
    Route("openapi", "GET", "/openapi.json", "public"),
    Route("docs", "GET", "/docs", "public"),
    Route("getKeyRing", "GET", "/admin/keyring", 3),
    Route("rekey", "POST", "/admin/rekey", 3, body={"limit": 1}),
]
CROSS = {"Sec-Fetch-Site": "cross-site"}
# What is asked of every operation beside its success: by whom, how, and what may come of it.
OUTCOMES = [
    ("global admin", "", {}, {200, 201, 204}),
    ("no token", "", {}, {200, 401}),
    ("no grant", "", {}, {200, 403, 404}),
    ("environment reader", "", {}, {200, 403, 404}),
    ("global admin", "", CROSS, {200, 403}),
    ("global admin", "?nonsense=1", {}, {422}),
    ("global admin", "?a=%FF", {}, {400}),
]


@pytest.fixture
def world(database_url, issuer) -> Iterator[World]:
    world = make_world(database_url, issuer)
    yield world
    world.service.close()


def sweep(world: World) -> Iterator[tuple[Route, str]]:
    for route in [*ROUTES, *BEYOND_THE_MATRIX]:
        for spelling in SPELLINGS if ENV in route.path else SPELLINGS[:1]:
            yield route, fill(route.path.replace(ENV, spelling), world.names)


@pytest.mark.slow
def test_every_answer_of_every_operation_has_the_headers(world):
    described = {endpoint.operation.operation_id for endpoint in endpoints(world.service.app.registry)}
    assert {route.operation for route, _ in sweep(world)} == described
    for caller, query, headers, statuses in OUTCOMES:
        for route, path in sweep(world):
            if query and "?" in path:
                continue
            answer = world.clients[caller].request(
                route.method, path + query, fill(route.body, world.names), headers=headers
            )
            with told(f"{route.method} {path}{query} by {caller}: {answer.status}"):
                assert answer.status_int in statuses
                judge(route, answer)
            if route.method != "GET" and answer.status_int < 300:
                world.restore()


@contextmanager
def told(what: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        error.add_note(what)
        raise


def judge(route, answer):
    headers = [(name.lower(), value) for name, value in answer.headers.items()]
    names = [name for name, _ in headers]
    assert len(set(names)) == len(names)
    found = dict(headers)
    for name, value in SECURITY_HEADERS:
        assert found[name.lower()] == value
    if route.operation != "docs" or answer.status_int != 200:
        assert found["content-security-policy"] == API_CONTENT_SECURITY_POLICY
    assert UUID(found["x-request-id"]).version == 7
    assert not [name for name in names if name.startswith("access-control-")]
    assert not {"server", "set-cookie", "x-powered-by", "allow"} & found.keys()
    judge_caching(route, found)
    judge_content(answer, found)


def judge_caching(route, found):
    if route.operation in PLAINTEXT:
        assert found["cache-control"] == "no-store, no-cache, must-revalidate, private"
        assert found["edge-cdn-cache-control"] == "no-store"
        assert found["vary"] == "Proxy-Access-Jwt-Assertion"
    else:
        assert found["cache-control"] == "no-store"
        assert not {"edge-cdn-cache-control", "vary"} & found.keys()


def judge_content(answer, found):
    if answer.status_int == 204:
        assert answer.body == b""
        assert "content-type" not in found
        return
    assert found["content-type"].lower().endswith("; charset=utf-8")
    if answer.status_int >= 400:
        assert answer.json["request_id"] == found["x-request-id"]
        assert found["content-length"] == str(len(answer.body))
