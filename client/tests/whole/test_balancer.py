"""A load balancer answers in place of the service, at each request of each command (contract 16.8).

No fallback is removed, no credential goes to another origin, and no exit code is wrong. `make test-long` has
all statuses; otherwise there is a fixed sample of them.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from balancer import Balancer
from extent import sample
from hostile import Hostile, answered, secrets
from waiting import PATIENCE, eventually

import secretsvc_client
from secretsvc_client import cli

pytestmark = pytest.mark.long
CLIENT = Path(secretsvc_client.__file__).parent.parent
KEY = base64.b64encode(bytes(range(32))).decode()
ENVELOPE = {"code": "ANY_CODE", "message": "No.", "request_id": "server-1"}
BODIES = {
    "html": (b"<!doctype html><title>default backend</title>", "text/html"),
    "text": (b"default backend - 404", "text/plain"),
    "json": (
        b'{"code": 404, "message": "no Route matched", "error": {"code": "NOT_FOUND"}}',
        "application/json",
    ),
    "nothing": (b"", "text/plain"),
    "own": (json.dumps(ENVELOPE).encode(), "application/json"),
}
#: Statuses of load balancers and proxies, and those with a code of their own.
COMMON = (302, 304, 400, 401, 403, 404, 407, 409, 412, 413, 418, 422, 429, 500, 502, 503, 504)
FOREIGN = [body for body in BODIES if body != "own"]
#: By status, where the service itself answers.
CODES = {401: 4, 403: 4, 404: 4, 429: 4, 409: 5, 412: 5, 400: 6, 413: 6, 422: 6}
COMMANDS = {
    "whoami": [["whoami"]],
    "login": [["login", "{url}", "--token-file", "{token}"]],
    "use": [["use", "shop", "prod"]],
    "projects": [["projects"], ["projects", "--create", "mail"]],
    "environments": [["environments"], ["environments", "--create", "test"]],
    "search": [["search", "API"]],
    "list": [["list"]],
    "get": [["get", "API_KEY"]],
    "set": [["set", "API_KEY"]],
    "unset": [["unset", "OLD"]],
    "rename": [["rename", "OLD", "OLDER"]],
    "import": [["import", "-"], ["import", "-", "--replace", "--dry-run"]],
    "export": [["export"], ["export", "--format", "env", "--output", "written"]],
    "edit": [["edit"]],
    "run": [["run", "--", "true"], ["run", "--format", "written.env", "--", "true"]],
    "diff": [["diff", "dev"]],
    "copy": [["copy", "dev"]],
    "history": [["history"], ["history", "API_KEY"], ["history", "--deleted"]],
    "restore": [["restore", "1"], ["restore", "1", "--key", "API_KEY"]],
    "audit": [["audit"]],
    "access": [["access"], ["access", "root@example.com"], ["access", "unknown@example.com"]],
}
LINES = [line for lines in COMMANDS.values() for line in lines]


def test_every_command_that_asks_the_service_is_in_the_table():
    assert COMMANDS.keys() == cli.COMMANDS.keys() - {"completion"}


def expected(status: int, body: str) -> int:
    """The code of contract 9.1."""
    if status >= 500:
        return 3
    if body == "own" or status < 400:
        return CODES.get(status, 1)
    return 4 if status in (401, 403) else 3


def answers(common: int, other: int, bodies=tuple(BODIES)) -> list[tuple[int, str]]:
    """All statuses from 300 to 599 with each of these bodies; without `--long` so many of them."""
    others = [status for status in range(300, 600) if status not in COMMON]
    return [*sample(list(product(COMMON, bodies)), common), *sample(list(product(others, bodies)), other)]


@pytest.fixture
def elsewhere():
    """Another origin, to which redirects lead."""
    with Hostile(secrets({"API_KEY": "of another origin"})) as server:
        yield server
        assert server.requests == []


@pytest.fixture
def balancer(real, service, elsewhere):
    body = {"mode": "merge", "set": {"API_KEY": "value", "OLD": "old"}}
    service.user().post("/projects/shop/environments/prod/secrets:batch", body)
    with Balancer(real()["SECRETSVC_URL"]) as made:
        made.redirect = f"Location: {elsewhere.url}/login"
        yield made


@pytest.fixture
def command(ask, real, balancer, home, monkeypatch):
    """Runs a command through the balancer."""
    monkeypatch.setattr("secretsvc_client.api.time.sleep", lambda _seconds: None)
    token, editor = home / "token", home / "editor"
    token.write_text(real()["SECRETSVC_TOKEN"])
    editor.write_text('#!/bin/sh\necho "NEW_$$=1" >> "$1"\n')
    editor.chmod(0o755)
    (home / "memory").mkdir(mode=0o700)
    more = {"EDITOR": str(editor), "XDG_RUNTIME_DIR": str(home / "memory"), "SECRETSVC_FALLBACK_KEY": KEY}

    def run(line):
        substitutes = {"{url}": balancer.url, "{token}": str(token)}
        given = [substitutes.get(one, one) for one in line]
        return ask(*given, stdin=b"API_KEY=new", **real(SECRETSVC_URL=balancer.url, **more))

    return run


def answer_from(balancer, number, status, body):
    """Have the balancer answer all requests from that number on."""
    content, media = BODIES[body]
    raw = answered(status, b"" if status == 304 else content, f"Content-Type: {media}", balancer.redirect)
    balancer.reset()
    balancer.instead = lambda asked: raw if asked >= number else None


def requests_of(balancer, run, line):
    """The number of requests of a command that the service answers."""
    balancer.instead = lambda _number: None
    balancer.reset()
    run(line)
    return len(balancer.requests)


@pytest.mark.parametrize("line", LINES, ids="-".join)
def test_an_answer_of_the_balancer_is_not_that_of_the_service(command, balancer, line):
    requests = requests_of(balancer, command, line)
    assert requests >= 1
    for number, (status, body) in product(range(requests), answers(10, 4)):
        if os.path.exists("written"):
            os.unlink("written")
        answer_from(balancer, number, status, body)
        done = command(line)
        code = expected(status, body)
        about = (number, status, body, done.err)
        assert (done.reason if line[0] == "run" else done.code) == code, about
        assert (done.code == 125) is (line[0] == "run"), about
        assert done.started is None, about
        assert not os.path.exists("written"), about
        assert "unexpected" not in done.err, about
        assert len(balancer.requests) <= number + 3, about


@pytest.mark.parametrize("flags", [[], ["--format", "given.json"]], ids=["environment", "file"])
def test_the_fallback_outlives_the_balancer(command, balancer, flags):
    path = Path("sealed").absolute()
    line = ["run", "--wait", "0", "--fallback", str(path), *flags, "--", "true"]
    assert command(line).started
    kept = path.read_bytes()
    for status, body in answers(85, 20):
        answer_from(balancer, 0, status, body)
        done = command(line)
        code, about = expected(status, body), (status, body, done.err)
        assert (done.started is not None) is (code == 3), about
        assert done.reason == (None if code == 3 else code), about
        if body == "own" and status in (401, 403, 404):
            assert not path.exists(), about
            path.write_bytes(kept)
        assert path.read_bytes() == kept, about


@pytest.fixture
def watched(real, balancer, home):
    """Starts `run --watch` with these flags."""
    made = []

    def start(*flags):
        given = {"SECRETSVC_URL": balancer.url, "SECRETSVC_FALLBACK_KEY": KEY, "PYTHONPATH": str(CLIENT)}
        run = ["run", "--wait", "0", "--watch", "--interval", "0.01", *flags]
        made.append(
            subprocess.Popen(
                [sys.executable, "-m", "secretsvc_client", *run, "--", "sh", "-c", "echo on; exec sleep 600"],
                env={**os.environ, **real(**given)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return made[-1]

    yield start
    for process in made:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("number", [0, 1], ids=["environment", "export"])
def test_a_watched_command_is_not_started_by_the_balancer(watched, balancer, number):
    for status, body in answers(3, 2):
        answer_from(balancer, number, status, body)
        out, err = watched().communicate(timeout=PATIENCE)
        about = (status, body, err)
        assert out == "", about
        assert err.splitlines()[-1].startswith(f"secretsvc: exit {expected(status, body)}: "), about


def test_a_watched_command_goes_on_whatever_the_balancer_answers(watched, balancer):
    process = watched("--fallback", "sealed")
    assert process.stdout.readline() == "on\n"
    # From the request for the environment on, and from the one for its secrets.
    for (status, body), number in product(answers(16, 8, FOREIGN), (0, 1)):
        answer_from(balancer, number, status, body)
        assert eventually(lambda wanted=number + 4: len(balancer.requests) >= wanted)
        assert (process.poll(), os.path.exists("sealed")) == (None, True), (number, status, body)
