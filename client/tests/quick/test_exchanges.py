"""The exchanges that were recorded of version 1 are what the client asks, and its answers what it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile import Hostile, told

RECORDED = json.loads((Path(__file__).parents[3] / "tests" / "data" / "v1-exchanges.json").read_text())
#: What asks for a recorded path; `{project}` is that of the exchange.
COMMANDS = {
    ("GET", "/whoami"): ["whoami"],
    ("GET", "/projects"): ["projects"],
    ("GET", "/audit"): ["audit", "--everywhere", "--limit", "500"],
    ("GET", "/identities"): None,
}
BY_ENDING = {
    "secrets": ["list"],
    "secrets:export": ["export"],
    "environments": ["environments"],
    "versions": ["history", "{key}"],
    "secrets:batch": ["unset", "A"],
    "secrets:import": ["import", "-"],
    "secrets:rename": ["rename", "A", "B"],
    "secrets:rollback": ["restore", "1", "--key", "A"],
}


def command_of(exchange):
    """The command that makes such a request; None where none does."""
    path = exchange["path"].partition("?")[0]
    command = COMMANDS.get((exchange["method"], path))
    last = path.rpartition("/")[2]
    if (
        command is None
        and "/projects/" in path
        and exchange["method"] == ("POST" if ":" in last and "export" not in last else "GET")
    ):
        command = BY_ENDING.get(last)
        if command is None and "/secrets/" in path and "{" not in last:
            command = ["get", last.partition(":")[0]]
    if command is None:
        return None
    key = path.rpartition("/versions")[0].rpartition("/")[2]
    return [part.format(key=key) for part in command]


def readable(recorded):
    """The recorded answer with values in the place of its marks."""
    if isinstance(recorded, dict):
        # There is one page here.
        return {name: readable(value) if name != "next_cursor" else None for name, value in recorded.items()}
    if isinstance(recorded, list):
        return [readable(value) for value in recorded]
    return 1_800_000_000_000 if recorded == "<time>" else recorded


def grown(found):
    """The answer of a newer service: every object has a field more."""
    if isinstance(found, dict):
        return {**{name: grown(value) for name, value in found.items()}, "newer": {"field": [1]}}
    return [grown(value) for value in found] if isinstance(found, list) else found


ASKED = [
    (index, exchange)
    for index, exchange in enumerate(RECORDED)
    if command_of(exchange) and isinstance(exchange["answer"].get("body"), dict)
]
CODES = {200: 0, 400: 6, 401: 4, 403: 4, 404: 4, 409: 5, 412: 5, 413: 6, 422: 6, 429: 4, 500: 3, 503: 3}


@pytest.mark.parametrize("age", ["recorded", "newer"])
@pytest.mark.parametrize(
    "exchange", [one for _, one in ASKED], ids=[f"{i}-{one['method']}" for i, one in ASKED]
)
def test_a_recorded_answer_is_understood(ask, at, exchange, age):
    body = readable(exchange["answer"]["body"])
    status = exchange["answer"]["status"]
    if age == "newer" and not exchange["path"].partition("?")[0].endswith("secrets:export"):
        body = grown(body)
    command = command_of(exchange)
    with Hostile(told(status, body)) as server:
        for flags in ([], ["--json"]):
            done = ask(*command, *flags, stdin=b"A=1\n", **at(server))
            assert done.code == CODES[status], done.err
            assert "unexpected" not in done.err
    method, path = server.requests[0].split(b" ")[:2]
    assert method.decode() == exchange["method"]
    assert path.decode().partition("?")[0].rpartition("/")[2].partition(":")[2] in exchange["path"]


@pytest.mark.parametrize(
    "page", [{"items": [{}], "next_cursor": "a"}, {"items": [], "next_cursor": "b"}], ids=["same", "empty"]
)
def test_a_list_without_end_is_an_error(ask, at, page):
    with Hostile(told(200, page)) as server:
        done = ask("history", "--limit", "1000", **at(server))
    assert done.code == 1
    assert len(server.requests) <= 2


def test_there_are_many_such_exchanges():
    assert len(ASKED) > 30


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["list"], {"items": [{"key": "A"}], "rev": 1}),
        (["projects"], {"items": [{"slug": "a"}]}),
        (["environments"], {"items": [{"slug": "a"}]}),
        (["audit"], {"items": [{"action": "a"}]}),
        (["history"], {"items": [{"rev": 1, "changes": []}]}),
        (["import", "-"], {"rev": 1, "changes": [{"key": "A", "kind": "added"}]}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_an_older_service_may_lack_what_the_client_can_do_without(ask, at, command, found):
    with Hostile(told(200, found)) as server:
        assert ask(*command, stdin=b"A=1", **at(server)).code == 0


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u2028\x9b31m\r"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["whoami"], {"identity": {"kind": HOSTILE, "subject": HOSTILE}, "global_role": HOSTILE}),
        (["projects"], {"items": [{"slug": HOSTILE, "name": HOSTILE, "description": HOSTILE}]}),
        (["environments"], {"items": [{"slug": HOSTILE, "name": HOSTILE, "rev": HOSTILE}]}),
        (
            ["list"],
            {"items": [{"key": HOSTILE, "version": HOSTILE, "updated_at": HOSTILE, "description": HOSTILE}]},
        ),
        (
            ["search", "xx"],
            {"items": [{"kind": HOSTILE, "project": HOSTILE, "key": HOSTILE, "name": HOSTILE}]},
        ),
        (["diff", "dev"], {"items": [{"key": HOSTILE, "kind": HOSTILE, "version": HOSTILE}]}),
        (
            ["history"],
            {"items": [{"rev": 1, "action": HOSTILE, "reason": HOSTILE, "changes": [{"key": HOSTILE}]}]},
        ),
        (["history", "A"], {"items": [{"version": 1, "created_by": HOSTILE}]}),
        (["unset", "A"], {"rev": 1, "changes": [{"key": HOSTILE, "kind": HOSTILE}], "expandable": [HOSTILE]}),
        (
            ["audit"],
            {"items": [{"action": HOSTILE, "actor": {"subject": HOSTILE}, "detail": {HOSTILE: HOSTILE}}]},
        ),
        (["projects", "--create", "a"], {"slug": HOSTILE}),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, list) else None,
)
def test_nothing_that_a_terminal_would_obey_is_shown(ask, at, command, found):
    with Hostile(told(200, found)) as server:
        for flags in ([], ["--json"]):
            done = ask(*command, *flags, **at(server))
            assert done.code == 0, done.err
            assert not set(HOSTILE) & set("\x1b\x07\u202e\u2028\x9b\r") & set(done.out + done.err)
