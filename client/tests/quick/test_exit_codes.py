"""The exit codes of `run`: 125 its own failure, 126 not executable, 127 not found (contract 16.8)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import Hostile, refused, secrets

import secretsvc_client

CLIENT = Path(secretsvc_client.__file__).parent.parent


@pytest.fixture
def started(home, at):
    """Runs the client in a process of its own; `before` is shell text before it, such as a redirection."""

    def run(server, *arguments, redirect=""):
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "secretsvc_client", *arguments],
            env={**os.environ, **at(server), "PYTHONPATH": str(CLIENT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def make(path, text="", mode=0o755):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


COMMANDS = {
    "no such name": (127, lambda home: "no-such-program"),
    "no such file": (127, lambda home: "./absent"),
    "no permission": (126, lambda home: make(home / "plain", "#!/bin/sh\n", 0o644)),
    "a folder": (126, lambda home: str(home)),
    "no interpreter": (126, lambda home: make(home / "script", "#!/absent/interpreter\n")),
    "no program": (126, lambda home: make(home / "text", "echo no first line\n")),
}


@pytest.mark.parametrize("watch", [(), ("--watch",)], ids=["run", "watch"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_cannot_be_started_has_the_code_of_a_shell(started, home, name, watch):
    code, command = COMMANDS[name]

    def answer(request):
        return secrets({"A": "b"}) if b"secrets:export" in request else b"HTTP/1.1 200 X\r\n" + ID

    with Hostile(answer) as server:
        done = started(server, "run", *watch, "--", command(home))
    assert done.returncode == code, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("secretsvc: exit 2: command not found: " if code == 127 else "secretsvc: exit 1: ")


ID = b'Content-Length: 13\r\n\r\n{"id": "one"}'


def test_secrets_larger_than_an_environment_are_not_executable(started):
    with Hostile(secrets({"A": "x" * 200_000})) as server:
        done = started(server, "run", "--", "true")
    assert done.returncode == 126
    assert "secretsvc: exit 1: the secrets are more than an environment holds" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run",), 2),
        (("run", "--nonsense", "--", "true"), 2),
        (("run", "--interval", "x", "--", "true"), 2),
        (("run", "--wait", "-1", "--", "true"), 2),
        (("run", "--url", "ftp://x", "--", "true"), 2),
        (("--timeout", "0", "run", "--", "true"), 2),
        (("--json", "run", "--", "no-such-program"), None),
        (("run", "--token-file", "/absent", "--", "true"), 1),
    ],
    ids=["bare", "flag", "number", "wait", "url", "before", "json", "credential"],
)
def test_wrong_use_of_run_is_a_failure_of_the_client(ask, at, arguments, code):
    with Hostile(refused(403, "FORBIDDEN")) as server:
        done = ask(*arguments, **at(server))
    assert done.code == (125 if code else 127)
    assert done.reason == code
    assert server.requests == []


@pytest.mark.parametrize("arguments", [("list",), ("get", "A"), ("whoami",)], ids="-".join)
def test_other_commands_keep_their_codes(ask, at, arguments):
    with Hostile(refused(403, "FORBIDDEN")) as server:
        done = ask(*arguments, **at(server))
    assert done.code == 4
    assert "exit" not in done.err


@pytest.mark.parametrize("redirect", ["2>&-", ">&- 2>&-", "2>/dev/full"])
def test_a_failure_has_its_code_with_stderr_closed(started, redirect):
    with Hostile(refused(403, "FORBIDDEN")) as server:
        assert started(server, "run", "--", "true", redirect=redirect).returncode == 125
        assert started(server, "whoami", redirect=redirect.removeprefix(">&- ")).returncode == 4


def test_a_command_whose_client_had_no_stderr_has_none(started):
    with Hostile(secrets({})) as server:
        done = started(server, "run", "--", "sh", "-c", "echo x >&2 || echo closed", redirect="2>&-")
    assert (done.returncode, done.stdout) == (0, "closed\n")
