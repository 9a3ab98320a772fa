"""A success is the service's own if it has the shape of the operation (contract 16.8)."""

from __future__ import annotations

import json
import os

import pytest
from hostile import Hostile, answered, told

PAGE = answered(200, b"<!doctype html><title>Sign in</title>", "Content-Type: text/html", 'ETag: "5f3-a"')
FOREIGN = [PAGE, told(200, {}), told(200, {"status": "ok"}), b"HTTP/1.1 204 X\r\n\r\n"]
COMMANDS = [
    ("whoami",),
    ("use", "shop", "prod"),
    ("projects",),
    ("projects", "--create", "a"),
    ("environments",),
    ("environments", "--create", "a"),
    ("search", "xx"),
    ("list",),
    ("get", "A"),
    ("set", "A"),
    ("unset", "A"),
    ("rename", "A", "B"),
    ("import", "-"),
    ("export",),
    ("export", "--format", "env"),
    ("export", "--format", "kubernetes"),
    ("edit",),
    ("run", "--", "true"),
    ("run", "--format", "f.env", "--", "true"),
    ("diff", "dev"),
    ("copy", "dev"),
    ("history",),
    ("history", "A"),
    ("restore", "1"),
    ("audit",),
    ("access",),
]


@pytest.mark.parametrize("command", COMMANDS, ids="-".join)
def test_a_success_of_another_program_is_a_failure(ask, at, command):
    is_run = command[0] == "run"
    for answer in FOREIGN:
        with Hostile(answer) as server:
            given = at(server, EDITOR="true")
            done = ask(*command, stdin=b"A=1", **given)
            as_json = None
            if "--format" not in command:
                cut = command.index("--") if is_run else len(command)
                as_json = ask(*command[:cut], "--json", *command[cut:], stdin=b"A=1", **given)
        assert (done.code, done.out, done.started) == (125 if is_run else 1, "", None), answer
        assert done.err.count("\n") == 1
        if as_json is not None:
            assert (as_json.code, as_json.out) == (done.code, ""), answer
            assert json.loads(as_json.err)["error"]["exit_code"] == 1
    assert os.listdir() == []


def test_the_credential_of_a_login_is_not_kept_without_the_shape_of_an_identity(ask, home):
    (home / "token").write_text("t")
    health = told(200, {"service": "secretsvc"})
    for answer in FOREIGN:
        with Hostile(health, answer) as server:
            assert ask("login", server.url, "--token-file", str(home / "token")).code == 1
    assert not (home / ".config").exists()
