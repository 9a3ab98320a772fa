"""The single file in processes of its own, on each Python of the machine."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import zipfile

import pytest
from built import VERSIONS, python, single_file
from failing import CASES, GOOD
from hostile import Hostile, secrets, told
from waiting import PATIENCE as SECONDS
from waiting import slowness

#: The Python of this environment, without what is installed into it.
BARE = os.path.realpath(sys.executable)
#: Seconds of CPU beside the request.
START = 0.150


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return single_file(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def start(file, home, at):
    """Runs the file with a Python, in the present folder."""

    def run(*arguments, server, interpreter=sys.executable, **variables):
        environment = {**os.environ, **at(server), **variables}
        command = [interpreter, str(file), *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )

    return run


@pytest.mark.parametrize("version", VERSIONS)
def test_it_runs_on_every_python_from_3_9_on(start, home, version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version}")
    show = 'printf "%s|" "$A" "$B" "$#"'
    with Hostile(secrets({"A": "ä\n'\"", "B": ""})) as server:
        done = start("run", "--", "sh", "-c", show, "x", "--json", server=server, interpreter=interpreter)
        assert (done.returncode, done.stdout) == (0, "ä\n'\"||1|"), done.stderr
        assert start("--help", server=server, interpreter=interpreter).returncode == 0


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8"])
def test_on_an_older_python_one_line_names_the_version_that_is_needed(file, version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version}")
    done = subprocess.run([interpreter, str(file), "list"], capture_output=True, text=True, check=False)
    told = f"secretsvc needs Python 3.9 or later; this is {version}."
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(told)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_reads_toml_on_every_python_from_3_9_on(file, start, home, version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version}")
    if version in ("3.9", "3.10") and not any("tomli" in name for name in zipfile.ZipFile(file).namelist()):
        pytest.skip("tomli has not been fetched: make client")
    (home / "work" / ".secretsvc.toml").write_text('project = "folder"\nenvironment = "here"\n')
    ours = {"SECRETSVC_PROJECT": "", "SECRETSVC_ENVIRONMENT": ""}
    with Hostile(secrets({})) as server:
        done = start("run", "--", "true", server=server, interpreter=interpreter, **ours)
    assert done.returncode == 0, done.stderr
    assert server.paths[0].startswith("/api/v1/projects/folder/environments/here/")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_module_loads_on_every_python_from_3_9_on(file, version):
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version}")
    code = (
        "from secretsvc_client import cli, watching, fallback, editing, private;"
        "print(len([cli.parser_of(name).format_help() for name in cli.COMMANDS]))"
    )
    command = [interpreter, "-W", "error", "-c", code]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(file)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert int(done.stdout or 0) > 20, done.stderr


@pytest.mark.parametrize("kept", [False, True], ids=["plain", "with a fallback that is not there"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_service_that_fails_starts_nothing(start, home, case, kept):
    key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    flags = ["--fallback", "sealed"] if kept else []
    with Hostile(GOOD) as other, Hostile(case.script(other.url)) as server:
        done = start(
            "run",
            "--timeout",
            str(case.patience),
            *flags,
            "--",
            "touch",
            "started",
            server=server,
            SECRETSVC_FALLBACK_KEY=key,
        )
    assert done.returncode == 125
    assert done.stderr.startswith(f"secretsvc: exit {case.code}: ")
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir()) == []
    assert other.requests == []


def test_a_service_that_takes_ten_seconds_is_not_waited_for(start, home):
    with Hostile([10.0, GOOD]) as server:
        done = start("run", "--", "touch", "started", server=server)
    assert (done.returncode, os.listdir()) == (125, [])
    assert "secretsvc: exit 3: " in done.stderr
    assert "within 8 s" in done.stderr


def test_the_single_file_without_cryptography_refuses_the_fallback_by_name(file, home, at):
    with Hostile(GOOD) as server:
        done = subprocess.run(
            [sys.executable, "-S", str(file), "run", "--fallback", "f", "--", "true"],
            env={**at(server), "SECRETSVC_FALLBACK_KEY": "x", "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    assert (done.returncode, server.requests) == (125, [])
    assert "--fallback needs the package cryptography" in done.stderr


@pytest.mark.parametrize("flags", [(), ("--watch",)], ids=["replaced", "watched"])
def test_the_command_ignores_no_signal_that_python_ignores(start, flags):
    answers = [told(200, {"id": "one"}), GOOD] if flags else [GOOD]
    with Hostile(*answers) as server:
        done = start("run", *flags, "--", "sed", "-n", "s/^SigIgn:.//p", "/proc/self/status", server=server)
    assert int(done.stdout, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0


def test_the_exit_code_is_the_commands_own(start):
    with Hostile(GOOD) as server:
        assert start("run", "--", "sh", "-c", "exit 42", server=server).returncode == 42


def test_a_start_takes_at_most_150_ms_of_cpu(start):
    """The least of several: other processes make a run longer, and none makes it shorter.

    A machine that is slower by itself has more by as much.
    """
    taken, bound = [], START * slowness()
    with Hostile(GOOD) as server:
        while len(taken) < 8 or (min(taken) > bound and len(taken) < 40):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert start("run", "--", "true", server=server, interpreter=BARE).returncode == 0
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    best, middle = min(taken) * 1000, sorted(taken)[len(taken) // 2] * 1000
    print(f"CPU of `run -- true`: {best:.0f} ms of {bound:.3f} s at best, {middle:.0f} ms in the middle")
    assert min(taken) <= bound
