"""The command of `run` and of `run --watch` gets what an exec would give it (contract 16.11)."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys

import pytest
from changing import WATCH, Changing, client
from hostile import Hostile
from waiting import PATIENCE

WAYS = {"exec": [], "run": client("--only", "A"), "watch": client("--only", "A", *WATCH)}
FILES = ["/proc/self/status", "/proc/self/limits", "/proc/self/environ", "/proc/self/stat"]
FILES += ["/proc/self/oom_score_adj", "/proc/self/cgroup"]
#: What the client is for, and what it keeps to itself.
OURS = {"A", "SECRETSVC_TOKEN"}
#: Catches each signal and names it in a line, until its input ends.
CATCH = """
import os, signal, sys
def caught(number, _frame):
    os.write(1, b"%d\\n" % number)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, caught)
os.write(1, b"ready\\n")
os.read(0, 1)
"""


@pytest.fixture
def started(at, home):
    """Starts a command in one of the ways, out of a process that was set up."""
    made = []
    changing = Changing()

    def start(way, *command, **options):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ODD": "\udcff x", **at(server)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        how = {"env": environment, "text": True, "errors": "surrogateescape", "close_fds": False, **pipes}
        made.append(subprocess.Popen([*WAYS[way], *command], **{**how, **options}))
        return made[-1]

    with Hostile(changing) as server:
        yield start
        for process in made:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=PATIENCE)


def set_up():
    """Changes all that an exec keeps."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTSTP, signal.SIGCHLD, signal.SIGRTMIN):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGWINCH])
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o027)
    os.nice(3)
    os.chdir("/usr")
    os.dup2(os.open("/dev/null", os.O_RDONLY), 42)
    os.set_inheritable(42, True)
    os.close(0)


@pytest.fixture
def inherited(started):
    """What a command of each way finds, by the file that shows it."""

    def find(way):
        texts = started(way, "head", "-c", "100000", *FILES, preexec_fn=set_up).communicate(timeout=PATIENCE)
        found = dict(re.findall(r"==> /proc/self/(\w+) <==\n(.*?)(?=\n==> |\Z)", texts[0], re.DOTALL))
        found["fd"] = started(way, "ls", "/proc/self/fd", preexec_fn=set_up).communicate(timeout=PATIENCE)[0]
        found["cwd"] = started(way, "pwd", preexec_fn=set_up).communicate(timeout=PATIENCE)[0]
        return found

    return {way: find(way) for way in WAYS}


def lines(*names):
    return lambda found: re.findall(rf"(?m)^(?:{'|'.join(names)}):[ \t].*$", found["status"])


def variables(found):
    entries = dict(entry.partition("=")[::2] for entry in found["environ"].split("\0") if entry)
    return {name: value for name, value in entries.items() if name not in OURS}


def after_name(*indexes):
    return lambda found: [found["stat"].rpartition(")")[2].split()[index] for index in indexes]


INHERITED = {
    "ignored signals": lines("SigIgn"),
    "blocked signals": lines("SigBlk"),
    "pending signals": lines("SigPnd", "ShdPnd"),
    "umask": lines("Umask"),
    "identity and rights": lines("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp"),
    "limits": lambda found: found["limits"],
    "nice": after_name(16),
    "session and terminal": after_name(3, 4),
    "scheduling": after_name(37, 38),
    "memory killer": lambda found: found["oom_score_adj"],
    "cgroup": lambda found: found["cgroup"],
    "descriptors": lambda found: found["fd"],
    "folder": lambda found: found["cwd"],
    "environment": variables,
}


def test_the_command_inherits_what_an_exec_keeps(inherited):
    for what, of in INHERITED.items():
        expected = of(inherited["exec"])
        assert expected, what
        assert {way: of(found) for way, found in inherited.items()} == dict.fromkeys(WAYS, expected), what


def test_only_a_watched_command_leads_a_process_group(started):
    code = "import os; print(os.getpgrp() == os.getpid(), os.getpgrp() == int(os.environ['GROUP']))"
    found = {}
    for way in WAYS:
        command = ["sh", "-c", 'GROUP=$$ exec "$@"', "sh", *WAYS[way], sys.executable, "-c", code]
        process = started("exec", *command, start_new_session=True)
        found[way] = process.communicate(timeout=PATIENCE)[0]
    assert found == {"exec": "True True\n", "run": "True True\n", "watch": "True False\n"}


@pytest.mark.parametrize("way", WAYS)
def test_each_signal_arrives_once(started, way):
    process = started(way, sys.executable, "-c", CATCH)
    assert process.stdout.readline() == "ready\n"
    sent = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})
    arrived = []
    for number in sent:
        process.send_signal(number)
        arrived.append(int(process.stdout.readline()))
    # One that arrived twice would have shown in place of the next.
    assert arrived == sent
    assert process.communicate(timeout=PATIENCE)[0] == ""


@pytest.mark.parametrize("way", WAYS)
def test_an_ignored_signal_reaches_a_command_that_catches_it(started, way):
    def ignore():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)

    catching = started(way, sys.executable, "-c", CATCH, preexec_fn=ignore)
    ignoring = started(way, "sh", "-c", "echo ready; read line; echo $line", preexec_fn=ignore)
    for process in (catching, ignoring):
        assert process.stdout.readline() == "ready\n"
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            process.send_signal(number)
    assert sorted(int(catching.stdout.readline()) for _ in range(3)) == [1, 2, 3]
    assert ignoring.communicate("alive\n", timeout=PATIENCE)[0] == "alive\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)],
    ids=lambda value: str(value).replace(" ", "-"),
)
def test_the_exit_code_is_the_one_that_a_shell_sees(started, way, script, code):
    shell = 'ulimit -c 0; "$@"; exit $?'
    process = started("exec", "sh", "-c", shell, "sh", *WAYS[way], "sh", "-c", script)
    assert process.wait(PATIENCE) == code


@pytest.mark.parametrize("way", WAYS)
def test_variables_of_systemd_name_the_command(started, way):
    names = "LISTEN_PID WATCHDOG_PID SYSTEMD_EXEC_PID"
    setting = "; ".join(f"{name}=$$; export {name}" for name in names.split())
    code = f"import os; print(*(os.environ[name] == str(os.getpid()) for name in {names.split()!r}))"
    command = ["sh", "-c", f'OTHER=1; {setting}; exec "$@"', "sh", *WAYS[way], sys.executable, "-c", code]
    assert started("exec", *command).communicate(timeout=PATIENCE)[0] == "True True True\n"


def test_children_that_the_client_found_are_reaped(started):
    code = """
import os, sys, time
pid = int(sys.argv[1])
os.kill(pid, 15)
until = time.monotonic() + 30
while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
    time.sleep(0.01)
print(os.path.exists(f"/proc/{pid}"))
"""
    shell = 'sleep 600 & exec "$@" $!'
    command = ["sh", "-c", shell, "sh", *WAYS["watch"], sys.executable, "-c", code]
    assert started("exec", *command).communicate(timeout=PATIENCE)[0] == "False\n"


def test_process_1_reaps_orphans(started):
    code = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"%d" % os.getpid())
        while os.getppid() != 1:
            time.sleep(0.001)
    os._exit(0)
os.wait()
pid = int(os.read(reader, 99))
until = time.monotonic() + 30
while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
    time.sleep(0.01)
print(os.getppid(), os.path.exists(f"/proc/{pid}"))
"""
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine does not allow a PID namespace")
    process = started("exec", *namespace, *WAYS["watch"], sys.executable, "-c", code)
    assert process.communicate(timeout=PATIENCE)[0] == "1 False\n"
