"""`run` starts the command with all of its secrets, or does not start it (contract 9.1)."""

from __future__ import annotations

import json
import os

import pytest
from hostile import Hostile, secrets, told

VALUES = {"API_KEY": "k", "DATABASE_URL": "postgresql://ä\n#'\"$", "EMPTY": ""}


def test_the_command_gets_the_secrets_and_what_was_there(ask, at):
    with Hostile(secrets(VALUES)) as server:
        done = ask("run", "--", "true", "--flag", "--json", **at(server, OTHER="here"))
    program, arguments, environment = done.started
    assert program == "/usr/bin/true" or program.endswith("/true")
    assert arguments == ["true", "--flag", "--json"]
    assert {key: environment[key.encode()].decode() for key in VALUES} == VALUES
    assert environment[b"OTHER"] == b"here"
    assert server.paths == ["/api/v1/projects/shop/environments/prod/secrets:export?reason=run&format=json"]
    assert b"Authorization: Bearer the-token" in server.requests[0]


def test_what_opens_the_service_stays_with_the_client(ask, at):
    with Hostile(secrets(VALUES)) as server:
        done = ask("run", "--", "true", **at(server, SECRETSVC_FALLBACK_KEY="x"))
    assert not {b"SECRETSVC_TOKEN", b"SECRETSVC_FALLBACK_KEY"} & done.started[2].keys()


def test_only_what_was_asked_for_is_given(ask, at):
    with Hostile(secrets(VALUES)) as server:
        only = ask("run", "--only", "API_KEY,EMPTY", "--", "true", **at(server))
        prefix = ask("run", "--prefix", "DATA", "--", "true", **at(server))
    assert only.started[2].keys() & {key.encode() for key in VALUES} == {b"API_KEY", b"EMPTY"}
    assert prefix.started[2].keys() & {key.encode() for key in VALUES} == {b"DATABASE_URL"}


@pytest.mark.parametrize(
    "flags", [("--only", "API_KEY,ABSENT"), ("--prefix", "ABSENT_")], ids=["only", "prefix"]
)
def test_what_was_asked_for_and_is_not_there_starts_nothing(ask, at, flags):
    with Hostile(secrets(VALUES)) as server:
        done = ask("run", *flags, "--", "true", **at(server))
    assert (done.code, done.reason, done.started) == (125, 4, None)


@pytest.mark.parametrize(
    ("values", "code", "named"),
    [
        ({"A": "x\0y"}, 6, "A holds a NUL"),
        ({"A": "\ud800"}, 6, "A holds what is no character"),
        ({"A": 1}, 1, "the value of A is no text"),
        ({"A-B": "x"}, 6, "A-B"),
        ({"A=B": "x"}, 6, "A=B"),
        ({"": "x"}, 6, "the key"),
        ({"1A": "x"}, 6, "1A"),
        ({"A\x1b[2J": "x"}, 6, "A\\x1b[2J"),
        ({"Ä": "x"}, 6, "Ä"),
    ],
    ids=lambda value: None if isinstance(value, (int, dict)) else value.encode("unicode_escape").decode(),
)
def test_what_no_environment_holds_is_refused_by_name(ask, at, values, code, named):
    with Hostile(secrets({"GOOD": "canary", **values})) as server:
        done = ask("run", "--", "true", **at(server))
    assert (done.code, done.reason, done.started) == (125, code, None)
    assert named in done.err
    assert "canary" not in done.err
    assert "\x1b" not in done.err


def test_a_secret_that_cannot_be_carried_is_no_matter_where_it_was_not_asked_for(ask, at):
    with Hostile(secrets({"GOOD": "x", "BAD": "\0"})) as server:
        assert ask("run", "--only", "GOOD", "--", "true", **at(server)).started


def test_the_program_is_found_by_the_path_of_whoever_asks_not_by_that_of_a_secret(ask, at, tmp_path):
    planted = tmp_path / "true"
    planted.write_text("#!/bin/sh\nexit 9\n")
    planted.chmod(0o755)
    with Hostile(secrets({"PATH": str(tmp_path)})) as server:
        done = ask("run", "--", "true", **at(server))
    assert done.started[0] != str(planted)
    assert done.started[2][b"PATH"].decode() == str(tmp_path)


def test_a_program_that_is_not_there_is_noticed_before_anything_is_asked(ask, at):
    with Hostile(secrets(VALUES)) as server:
        done = ask("run", "--", "no-such-program", **at(server))
    assert (done.code, done.reason, server.requests) == (127, 2, [])
    assert done.err == "secretsvc: exit 2: command not found: no-such-program\n"


@pytest.mark.parametrize(
    "arguments", [("run",), ("run", "--"), ("run", "true")], ids=["none", "dashes", "bare"]
)
def test_without_a_command_after_the_dashes_nothing_is_asked(ask, at, arguments):
    with Hostile(secrets(VALUES)) as server:
        assert ask(*arguments, **at(server)).reason == 2
    assert server.requests == []


def test_a_file_takes_the_secrets_in_place_of_the_environment(ask, at, home):
    target = home / "secrets.json"
    with Hostile(secrets({**VALUES, "NUL": "\0"})) as server:
        done = ask("run", "--format", str(target), "--", "true", **at(server))
    assert json.loads(target.read_bytes()) == {**VALUES, "NUL": "\0"}
    assert target.stat().st_mode & 0o777 == 0o600
    assert b"API_KEY" not in done.started[2]


def test_a_file_of_another_format_is_what_the_service_makes_of_it(ask, at, home):
    target = home / "secrets.env"
    from hostile import answered

    with Hostile(answered(200, b"A='b'\n", 'ETag: "7"')) as server:
        done = ask("run", "--format", str(target), "--", "true", **at(server))
    assert done.started
    assert target.read_bytes() == b"A='b'\n"
    assert server.paths[0].endswith("secrets:export?reason=run&format=env")


@pytest.mark.parametrize("name", ["secrets", "secrets.xml"])
def test_a_file_whose_ending_says_no_format_is_wrong_use(ask, at, name):
    with Hostile(secrets(VALUES)) as server:
        assert ask("run", "--format", name, "--", "true", **at(server)).reason == 2
    assert not os.path.exists(name)


@pytest.mark.parametrize(
    "found",
    [{}, {"rev": 1}, {"secrets": {}}, {"rev": "1", "secrets": {}}, {"rev": 1, "secrets": []}, [], None, "x"],
    ids=json.dumps,
)
def test_an_answer_of_another_shape_starts_nothing(ask, at, found):
    with Hostile(told(200, found)) as server:
        done = ask("run", "--", "true", **at(server))
    assert (done.code, done.reason, done.started) == (125, 1, None)


def test_what_a_newer_server_adds_changes_nothing(ask, at):
    with Hostile(told(200, {"rev": 1, "secrets": {"A": "b"}, "new": [1]}, "X-New: yes")) as server:
        assert ask("run", "--", "true", **at(server)).started
