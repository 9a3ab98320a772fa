"""`run --watch` in a process of its own: restarts, signals and exit codes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from changing import WATCH, Changing, client
from hostile import Hostile, closed_port, refused, told
from waiting import PATIENCE as SECONDS

from secretsvc_client.watching import Watcher

SAY = "import os, time, sys; print(os.environ['A'], flush=True); time.sleep({})"


@pytest.fixture
def changing():
    return Changing()


@pytest.fixture
def watching(at, home, changing):
    """Starts the client with a command; what is left of it is ended."""
    made = []

    def start(*command, **variables):
        environment = {**os.environ, **at(start.server), **variables}
        made.append(
            subprocess.Popen(
                [*client(*WATCH, *start.flags, grace=start.grace), *command],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                stdin=subprocess.DEVNULL,
            )
        )
        return made[-1]

    start.flags, start.grace = [], SECONDS
    with Hostile(changing) as server:
        start.server = server
        yield start
        for process in made:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=SECONDS)


def python(code):
    return [sys.executable, "-c", code]


def until(holds):
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def until_asked(changing, times):
    """Wait for requests that begin after this call."""
    before = len(changing.asked)
    until(lambda: len(changing.asked) > before + times)


def test_a_new_revision_restarts_the_command_with_the_new_values(watching, changing):
    process = watching(*python(SAY.format(60)))
    assert process.stdout.readline() == "first\n"
    until(lambda: len(changing.asked) >= 6)
    assert changing.asked[2:6] == [("prod", False), ("secrets:export", True)] * 2
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"
    assert process.poll() is None


def test_a_file_is_written_anew_before_the_command_is_restarted(watching, changing, home):
    watching.flags = ["--format", str(home / "shop.json")]
    show = "import json, sys, time; print(json.load(open(sys.argv[1]))['A'], flush=True); time.sleep(60)"
    process = watching(sys.executable, "-c", show, str(home / "shop.json"))
    assert process.stdout.readline() == "first\n"
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"


def test_clients_that_started_together_do_not_ask_together(monkeypatch):
    class Enough(BaseException):
        pass

    def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 50:
            raise Enough

    waited = []
    monkeypatch.setattr(time, "sleep", sleep)
    watcher = Watcher(SimpleNamespace(get=lambda _path: {}), SimpleNamespace(path=""), None, 10.0)
    with pytest.raises(Enough):
        watcher.run()
    assert len(set(waited)) > 40
    assert 8 <= min(waited) < 9.5
    assert 10.5 < max(waited) <= 12


def test_an_environment_made_anew_restarts_the_command_at_the_same_revision(watching, changing):
    process = watching(*python(SAY.format(60)))
    assert process.stdout.readline() == "first\n"
    changing.change(id="two", value="anew")
    assert process.stdout.readline() == "anew\n"


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_of_the_command_is_passed_on(watching, code):
    process = watching("sh", "-c", f"exit {code}")
    assert process.wait(SECONDS) == code


def test_the_end_by_a_signal_is_passed_on(watching):
    assert watching("sh", "-c", "kill -9 $$").wait(SECONDS) == 137


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_signals_reach_the_command(watching, name):
    code = f"import signal, sys, time; signal.signal(signal.{name}, lambda *_: sys.exit(9))"
    process = watching(*python(f"{code}; print('ready', flush=True); time.sleep(60)"))
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, name))
    assert process.wait(SECONDS) == 9


def test_a_command_that_ends_late_after_a_signal_is_not_started_again(watching, changing):
    code = "import signal, time, sys; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), sys.exit(4)))"
    process = watching(*python(f"{code}; print('ready', flush=True); time.sleep(60)"))
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    changing.change(rev=2, value="second")
    assert process.wait(SECONDS) == 4
    assert process.stdout.read() == ""


@pytest.mark.parametrize(
    "failure",
    [refused(404, "NOT_FOUND"), refused(503, "UNAVAILABLE"), b"", told(200, [])],
    ids=["404", "503", "cut", "shape"],
)
def test_a_service_that_fails_later_leaves_the_command_alone_and_is_told_once(watching, changing, failure):
    process = watching(*python(SAY.format(60)))
    assert process.stdout.readline() == "first\n"
    changing.failing = failure
    until_asked(changing, 4)
    assert process.poll() is None
    changing.change(failing=None, rev=3, value="back")
    assert process.stdout.readline() == "back\n"
    process.terminate()
    assert process.communicate(timeout=SECONDS)[1].count("changes are not seen") == 1


def test_new_values_that_cannot_be_carried_leave_the_command_alone(watching, changing):
    process = watching(*python(SAY.format(60)))
    assert process.stdout.readline() == "first\n"
    changing.change(rev=2, value="a\0b")
    until_asked(changing, 4)
    assert process.poll() is None
    changing.change(rev=3, value="good")
    assert process.stdout.readline() == "good\n"


@pytest.mark.parametrize("failure", [refused(404, "NOT_FOUND"), b""], ids=["404", "cut"])
def test_where_the_first_answer_fails_nothing_is_started(watching, changing, failure):
    changing.failing = failure
    process = watching("touch", "started")
    assert process.wait(SECONDS) == 125
    assert not os.path.exists("started")


def test_with_a_fallback_it_starts_in_an_outage_and_is_not_restarted_by_its_end(watching, changing, home):
    watching.flags = ["--fallback", str(home / "sealed")]
    key = {"SECRETSVC_FALLBACK_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
    assert watching("true", **key).wait(SECONDS) == 0
    changing.failing = refused(500, "INTERNAL")
    process = watching(*python(SAY.format(60)), **key)
    assert process.stdout.readline() == "first\n"
    changing.failing = None
    until_asked(changing, 6)
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"


def test_the_end_of_a_grant_removes_the_fallback_while_the_command_goes_on(watching, changing, home):
    watching.flags = ["--fallback", str(home / "sealed")]
    process = watching(
        *python(SAY.format(60)), SECRETSVC_FALLBACK_KEY="AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    )
    assert process.stdout.readline() == "first\n"
    assert (home / "sealed").exists()
    changing.failing = refused(403, "FORBIDDEN")
    until(lambda: not (home / "sealed").exists())
    assert process.poll() is None


LISTEN = """
import os, socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    print(os.environ["A"], flush=True)
    time.sleep(600)
"""


def test_a_restart_and_the_end_free_a_port_that_a_grandchild_holds(watching, changing):
    port = closed_port()
    process = watching("sh", "-c", '"$@"; true', "sh", *python(LISTEN), str(port))
    assert process.stdout.readline() == "first\n"
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"
    process.terminate()
    assert process.wait(SECONDS) == 128 + signal.SIGTERM
    socket.create_server(("127.0.0.1", port)).close()


def test_what_ignores_sigterm_is_killed_with_its_group_after_the_grace(watching, changing):
    watching.grace = 0.1
    port = closed_port()
    process = watching("sh", "-c", 'trap "" TERM; "$@"; true', "sh", *python(LISTEN), str(port))
    assert process.stdout.readline() == "first\n"
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"
    # As after an exec, what ignores SIGTERM goes on after SIGTERM.
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 128 + signal.SIGINT


def test_the_same_revision_restarts_nothing_whatever_the_status(watching, changing):
    changing.is_unconditional = True
    process = watching(*python(SAY.format(600)))
    assert process.stdout.readline() == "first\n"
    until_asked(changing, 4)
    changing.change(rev=2, value="second")
    assert process.stdout.readline() == "second\n"
    process.terminate()
    assert process.communicate(timeout=SECONDS)[1].count("restarting the command") == 1


def test_a_write_that_changes_no_chosen_value_restarts_nothing(watching, changing):
    watching.flags = ["--only", "A"]
    process = watching(*python(SAY.format(600)))
    assert process.stdout.readline() == "first\n"
    for rev in (2, 3):
        before = len(changing.asked)
        changing.change(more={"OTHER": str(rev)}, rev=rev)
        until(lambda count=before: len(changing.asked) > count + 4)
    changing.change(rev=4, value="second")
    assert process.stdout.readline() == "second\n"


def test_a_name_of_the_client_is_reported_once(watching, changing):
    changing.more = {"SECRETSVC_URL": "x"}
    process = watching(*python(SAY.format(600)))
    assert process.stdout.readline() == "first\n"
    for rev, value in ((2, "second"), (3, "third")):
        changing.change(rev=rev, value=value)
        assert process.stdout.readline() == f"{value}\n"
    process.terminate()
    assert process.communicate(timeout=SECONDS)[1].count("does not get SECRETSVC_URL") == 1
