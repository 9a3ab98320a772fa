"""A value leaves no trace in `ps`, in the client's files, in its debug log, its errors or its tracebacks."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from built import single_file
from server import served
from service import ADMIN

from secretsvc_client.cli import COMMANDS

CANARY = "canary7f3a9c51e0"
#: What somebody gives as an argument by mistake: it is refused and not repeated.
ARGUMENT = "mistake5d02e7b9aa"
KEY = base64.b64encode(bytes(range(32))).decode()
SECONDS = 60.0
DISGUISES = [
    ARGUMENT.encode(),
    CANARY.encode(),
    base64.b64encode(CANARY.encode()).rstrip(b"=")[:-2],
    CANARY.encode().hex().encode(),
]
#: What each command is given; commands that show values by design say so by `shows`.
SHOWS = {"get", "export"}
USES = {
    "login": [["login", "{url}"]],
    "whoami": [["whoami"]],
    "use": [["use", "shop", "prod"]],
    "projects": [["projects"], ["projects", "--create", "p{n}"]],
    "environments": [["environments"], ["environments", "--create", "e{n}"]],
    "search": [["search", "shop"]],
    "list": [["list"]],
    "get": [["get", "A"]],
    "set": [
        ["set", "B"],
        ["set", "B", "--file", "-", "--reason", "why"],
        ["set", "B={canary}"],
        ["set", "B", "{canary}"],
    ],
    "unset": [["unset", "C"], ["unset", "C={canary}"]],
    "rename": [["rename", "D{n}", "E{n}"], ["rename", "D", "{canary}=x"]],
    "import": [["import", "-"], ["import", "-", "--dry-run"], ["import", "-", "--format", "json"]],
    "export": [["export"], ["export", "--format", "env"]],
    "edit": [["edit"]],
    "run": [
        ["run", "--", "sleep", "0.3"],
        ["run", "--fallback", "sealed", "--", "sleep", "0.3"],
        ["run", "--only", "X", "--", "true"],
    ],
    "diff": [["diff", "dev"], ["diff", "--rev", "1"]],
    "copy": [["copy", "dev", "--dry-run"], ["copy", "dev"]],
    "history": [["history"], ["history", "A"], ["history", "--deleted"]],
    "restore": [["restore", "1", "--dry-run"], ["restore", "1", "--key", "A"]],
    "audit": [["audit"]],
    "access": [["access"]],
    "completion": [["completion", "bash"]],
}


class Processes(threading.Thread):
    """Looks at the arguments of every process until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over, self.found, self.looks = threading.Event(), [], 0

    def run(self) -> None:
        while not self.over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = path.read_bytes()
                except OSError:
                    continue
                if CANARY.encode() in line:
                    self.found.append(line)
            self.looks += 1


@pytest.fixture
def watched():
    looking = Processes()
    looking.start()
    yield looking
    looking.over.set()
    looking.join()


@pytest.fixture
def client(service, home, at, tmp_path):
    """Runs the single file against the real service; the value goes in by stdin."""
    file = single_file(tmp_path / "dist")
    editor = home / "editor"
    editor.write_text(f'#!/bin/sh\necho F$$={CANARY} >> "$1"\n')
    editor.chmod(0o755)
    (home / "memory").mkdir()
    body = {"mode": "merge", "set": {"A": CANARY, "C": CANARY}}
    for environment in ("prod", "dev"):
        service.user().post(f"/projects/shop/environments/{environment}/secrets:batch", body)
    with served(service.app) as port:
        url = f"http://127.0.0.1:{port}"
        settings = at(url, SECRETSVC_TOKEN=service.issuer.sign(ADMIN), SECRETSVC_FALLBACK_KEY=KEY)

        def run(arguments, stdin=b"", **variables):
            environment = {
                **os.environ,
                **settings,
                "EDITOR": str(editor),
                "XDG_RUNTIME_DIR": str(home / "memory"),
            }
            return subprocess.run(
                [sys.executable, str(file), *arguments],
                env={**environment, **variables},
                input=stdin,
                capture_output=True,
                check=False,
                timeout=SECONDS,
            )

        run.url = url
        yield run


def told(text: bytes) -> list[bytes]:
    return [form for form in DISGUISES if form in text]


def written(folder: Path) -> list[str]:
    """The files below the folder that hold the value, the test's own editor left out."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and path.name != "editor" and told(path.read_bytes())
    ]


def test_every_command_is_used():
    assert USES.keys() == COMMANDS.keys()


def test_a_value_leaves_no_trace(client, watched, home):
    for number, (name, uses) in enumerate(USES.items()):
        for index, use in enumerate(uses):
            filled = {"url": client.url, "canary": ARGUMENT, "n": f"{number}{index}"}
            arguments = [part.format(**filled) for part in use]
            own = arguments.index("--") if "--" in arguments else len(arguments)
            stdin = json.dumps({"G": CANARY}).encode() if "json" in use else f"G={CANARY}\n".encode()
            for flags in (["--debug"], ["--debug", "--json"]):
                done = client([*arguments[:own], *flags, *arguments[own:]], stdin)
                assert told(done.stderr) == [], arguments
                assert name in SHOWS or told(done.stdout) == [], arguments
                assert b"Traceback" not in done.stderr
            assert written(home) == [], arguments
    assert watched.looks > 20
    assert watched.found == []


@pytest.mark.parametrize("name", ["get", "export", "run", "edit", "import", "set"])
def test_what_goes_wrong_with_a_value_in_hand_does_not_tell_it(client, home, name):
    """The output cannot be written, the file system is full, the program is no program."""
    uses = {
        "get": ["get", "A"],
        "export": ["export", "--output", "/dev/full/x"],
        "run": ["run", "--format", "/proc/no/x.json", "--", "true"],
        "edit": ["edit", "--reason", ARGUMENT * 100],
        "import": ["import", "-", "--format", "json"],
        "set": ["set", "TOO_LARGE"],
    }
    stdin = {"import": f'{{"A": {CANARY}'.encode(), "set": CANARY.encode() * 10_000}.get(name, b"")
    done = client(uses[name], stdin)
    assert told(done.stderr) == []
    assert b"Traceback" not in done.stderr
    assert name == "get" or done.returncode != 0


def test_interrupting_it_shows_no_traceback(client, service, home, at, tmp_path):
    from hostile import Hostile

    file = single_file(tmp_path / "dist")
    with Hostile([2 * SECONDS]) as server:
        process = subprocess.Popen(
            [sys.executable, str(file), "run", "--", "true"],
            env={**os.environ, **at(server)},
            stderr=subprocess.PIPE,
            # A shell's background job ignores it, and so would what that starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        end = time.monotonic() + SECONDS
        while not server.requests and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SECONDS)[1] == b""
    assert process.returncode == 130
