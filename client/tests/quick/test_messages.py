"""Messages: what happened, then what to do, and never a value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import Hostile, secrets, told

from secretsvc_client.cli import COMMANDS

CLIENT = Path(__file__).parents[2]
NOWHERE = {"SECRETSVC_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("lst",), "Did you mean `secretsvc list`?"),
        (("ls",), "Did you mean `secretsvc list`?"),
        (("secrets",), "Did you mean `secretsvc list`?"),
        (("version",), "Did you mean `secretsvc --version`?"),
        (("-v",), "Did you mean `secretsvc --version`?"),
        (("set", "A", "--flie", "canary"), "Did you mean --file?"),
        (("set", "A", "--reson=canary"), "Did you mean --reason?"),
        (("run", "echo", "canary"), "Write the command after `--`"),
        (("run", "--watch", "ls", "-la"), "Write the command after `--`"),
        (("run", "--onyl", "canary", "--", "true"), "Did you mean --only?"),
        (("export", "--format", "canary"), "--format is none of json, env, shell, docker, kubernetes"),
        (("completion", "canary"), "is none of bash, zsh, fish"),
        (("list", "--rev", "canary"), "argument --rev is malformed"),
        (("list", "--rev"), "argument --rev needs a value"),
        (("whoami", "--url", "https://x.example/api/v1/"), "Leave /api/v1 out."),
        (("canary",), "there is no such command | See `secretsvc --help`."),
    ],
)
def test_a_mistake_says_what_to_write(ask, arguments, expected):
    done = ask(*arguments, **NOWHERE)
    assert done.code in (2, 125)
    assert expected in done.err
    assert "canary" not in done.err.replace(expected, "")
    assert done.err.count("secretsvc: ") == done.err.count("\n")


def test_help_of_a_command_is_shown_by_help(ask):
    assert "usage: secretsvc run" in ask("help", "run").out


def test_a_hint_is_set_off_from_the_message(ask):
    err = ask("whoami").err
    assert " | " in err
    assert err.endswith(".\n")


def test_a_full_disk_is_called_so(home, at):
    with Hostile(secrets({"A": "canary"})) as server, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "secretsvc_client", "export"],
            env={**os.environ, **at(server), "PYTHONPATH": str(CLIENT)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"secretsvc: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("command", ["export", "run -- sh -c 'echo $A >&2'"])
def test_a_closed_stdout_is_called_so_and_stops_no_command(home, at, command):
    with Hostile(secrets({"A": "value"})) as server:
        done = subprocess.run(
            ["sh", "-c", f"exec '{sys.executable}' -m secretsvc_client {command} >&-"],
            env={**os.environ, **at(server), "PYTHONPATH": str(CLIENT)},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    is_run = command.startswith("run")
    assert done.returncode == (0 if is_run else 1), done.stderr
    expected = "value\n" if is_run else "secretsvc: the output cannot be written: stdout is closed\n"
    assert done.stderr == expected


def test_the_log_shows_no_detail_as_blank(ask, at):
    record = {"created_at": 0, "action": "secret.list", "outcome": "success", "detail": None}
    with Hostile(told(200, {"items": [record], "next_cursor": None})) as server:
        out = ask("audit", **at(server)).out
    assert "secret.list" in out
    assert "null" not in out


@pytest.mark.parametrize("flags", [(), ("--watch",)], ids=["plain", "watch"])
@pytest.mark.parametrize("case", ["script", "size"])
def test_a_program_that_cannot_be_started_has_a_hint(home, at, flags, case):
    script = home / "script"
    script.write_text("true\n" if case == "script" else "#!/bin/sh\n")
    script.chmod(0o755)
    values = {f"A{n}": "x" * 100_000 for n in range(40)} if case == "size" else {"A": "x"}
    answers = {
        b"export": secrets(values),
        b"prod ": told(200, {"id": "one", "rev": 1}),
    }
    with Hostile(lambda request: next(a for end, a in answers.items() if end in request)) as server:
        done = subprocess.run(
            [sys.executable, "-m", "secretsvc_client", "run", *flags, "--", str(script)],
            env={**os.environ, **at(server), "PYTHONPATH": str(CLIENT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode not in (0, 3)
    assert ("#!/bin/sh" if case == "script" else "--only, --prefix or --format FILE") in done.stderr


def test_a_folder_file_with_a_byte_order_mark_is_read(ask, real, home):
    given = {name: value for name, value in real().items() if name != "SECRETSVC_PROJECT"}
    (home / "work" / ".secretsvc.toml").write_bytes(b'\xef\xbb\xbfproject = "shop"\n')
    done = ask("list", **given)
    assert done.code == 0, done.err


def test_no_synonym_hides_a_command():
    from secretsvc_client.suggestions import _SYNONYMS

    assert not set(_SYNONYMS) & set(COMMANDS)
    assert set(_SYNONYMS.values()) <= {*COMMANDS, "--version"}
