"""What a client of v1 was once answered it is answered still (docs/api-stability.md)."""

from __future__ import annotations

import copy
import os

import pytest
import recorded_requests
from service import ADMIN

from secretsvc.web.openapi.document import endpoints

RECORD = "RECORD_EXCHANGES" in os.environ
CALLERS = {"admin": ADMIN, "reader": "reader@example.com", "stranger": "stranger@example.com"}


def replay(service):
    """Every exchange as recorded, with the kept values in place, and as it is answered now."""
    clients = {name: service.user(subject) for name, subject in CALLERS.items()} | {
        "nobody": service.nobody()
    }
    kept: dict[str, str] = {}
    for exchange in recorded_requests.load():
        if exchange.get("sealed"):
            while service.app.registry.audit_sealer.step():
                pass
        yield exchange, recorded_requests.ask(clients[exchange.get("as", "admin")], exchange, kept), kept


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.skipif(RECORD, reason="recording")
def test_no_recorded_exchange_is_answered_otherwise(service):
    problems = [
        f"{exchange['method']} {exchange['path']}{problem}"
        for exchange, found, kept in replay(service)
        for problem in recorded_requests.breaks(recorded_requests.fill(exchange["answer"], kept), found)
    ]
    assert not problems


@pytest.mark.skipif(not RECORD, reason="RECORD_EXCHANGES is not set")
def test_record_the_exchanges_that_have_no_answer_yet(service):
    recorded = []
    for exchange, found, kept in replay(service):
        recorded.append(exchange | {"answer": exchange.get("answer") or recorded_requests.mask(found, kept)})
    recorded_requests.save(recorded)


def test_every_operation_but_the_viewer_has_a_recorded_success(service):
    described = {
        (endpoint.operation.method, _shape(endpoint.path)) for endpoint in endpoints(service.app.registry)
    }
    recorded = {
        (exchange["method"], _shape(exchange["path"]))
        for exchange in recorded_requests.load()
        if exchange.get("answer", {"status": 200})["status"] < 300
    }
    assert described - recorded == {("GET", "/docs"), ("GET", "/openapi.json")}


def _shape(path):
    """The path without its names: `/projects/*`."""
    named = ("projects", "environments", "secrets", "identities", "grants", "groups", "members")
    parts = path.partition("?")[0].split("/")
    found = []
    for before, part in zip(["", *parts], parts, strict=False):
        _, colon, verb = part.partition(":")
        found.append(f"*{colon}{verb}" if before in named else part)
    return "/".join(found)


ANSWER = {
    "status": 200,
    "headers": {"ETag": '"1"'},
    "body": {"id": "<id>", "n": 1, "at": "<time>", "items": [{"a": "b"}]},
}
NOW = {
    "status": 200,
    "headers": {"ETag": '"1"'},
    "body": {"id": "01a1fd3c-5d9c-74a8-9634-232cb2297c0e", "n": 1, "at": 10**12, "items": [{"a": "b"}]},
}


def test_a_field_more_breaks_nobody():
    more = copy.deepcopy(NOW)
    more["body"]["new"] = 1
    more["body"]["items"][0]["new"] = 1
    assert recorded_requests.breaks(ANSWER, more) == []


def test_an_issue_more_breaks_nobody_and_one_less_does():
    recorded = {"body": {"issues": [{"path": "b", "message": "<text>"}]}}
    here, more = {"path": "b", "message": "No."}, {"path": "a", "message": "No."}
    assert recorded_requests.breaks(recorded, {"body": {"issues": [more, here]}}) == []
    assert recorded_requests.breaks(recorded, {"body": {"issues": [more]}})
    assert recorded_requests.breaks(recorded, {"body": {"issues": []}})


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("status",), 201),
        (("headers", "ETag"), '"2"'),
        (("body", "id"), "x"),
        (("body", "id"), None),
        (("body", "n"), "1"),
        (("body", "n"), True),
        (("body", "at"), 1),
        (("body", "items"), []),
        (("body", "items"), [{"b": "b"}]),
        (("body",), {}),
    ],
)
def test_any_other_difference_breaks_somebody(at, value):
    other = copy.deepcopy(NOW)
    inner = other
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = value
    assert recorded_requests.breaks(ANSWER, other)
