"""The units of deploy/ that do a task, and their timers; tests/load/test_booted_units.py runs them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import click
import pytest
from processes import ROOT

from secretsvc.commands import main
from secretsvc.deployment.init import DEPLOY

FOLDER = ROOT / "deploy"
TASKS = sorted(name.removesuffix(".timer") for name in DEPLOY if name.endswith(".timer"))
EXPOSURE = "15"
#: What is there instead of programs that this machine need not have.
PRESENT = "/bin/true"


def text(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def values(name: str, setting: str) -> list[str]:
    return re.findall(rf"(?m)^{setting}=(.*)$", text(name))


def confinement(name: str) -> list[str]:
    """The lines that leave a process little of the system."""
    return text(name).partition("NoNewPrivileges=")[2].partition("\n\n[Install]")[0].splitlines()


def test_each_timer_starts_a_service_and_no_service_starts_by_itself() -> None:
    services = {name.removesuffix(".service") for name in DEPLOY if "Type=oneshot" in text(name)}
    assert services == {*TASKS}
    for task in TASKS:
        assert "[Install]" not in text(f"{task}.service")
        assert values(f"{task}.timer", "WantedBy") == ["timers.target"]
        assert values(f"{task}.timer", "Persistent") == ["true"]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_confined_as_the_service_and_its_files_are_its_own(task: str) -> None:
    name = f"{task}.service"
    assert confinement(name) == confinement("secretsvc.service")
    assert {"User=secretsvc", "UMask=0077", "StateDirectoryMode=0700", "LimitCORE=0"} <= {
        *text(name).split("\n")
    }


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_a_valid_unit_and_its_timer_a_valid_timer(task: str, tmp_path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    for kind in ("service", "timer"):
        unit = text(f"{task}.{kind}")
        placed = re.sub(r"(?m)^(ExecStart=)\S+", rf"\g<1>{PRESENT}", unit)
        (tmp_path / f"{task}.{kind}").write_text(placed)
    command = ["systemd-analyze", "--man=no", "verify", str(tmp_path / f"{task}.timer")]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    judged = subprocess.run([*judge, str(tmp_path / f"{task}.service")], capture_output=True, check=False)
    assert judged.returncode == 0
    for calendar in values(f"{task}.timer", "OnCalendar"):
        subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, check=True)


@pytest.mark.parametrize("task", [task for task in TASKS if not task.endswith("postgresql")])
def test_what_a_task_runs_is_a_command_of_ours(task: str) -> None:
    (line,) = values(f"{task}.service", "ExecStart")
    calls = re.findall(r"/opt/secretsvc/bin/secretsvc-server ([^;']*)", line)
    assert calls
    for call in calls:
        # The date, and the folders that are closed, are of the shell.
        text = re.sub(r"\$\$\(date[^)]*days[^)]*\)", "2020-01-01", call).replace('"$$@" ', "")
        placed = [str(ROOT / "production.ini") if one.endswith(".ini") else one for one in shlex.split(text)]
        command: click.Command = main
        while isinstance(command, click.Group):
            command = command.commands[placed.pop(0)]
        command.make_context(task, placed)


def test_the_tasks_of_one_export_wait_for_one_another() -> None:
    starts = [values(f"{task}.service", "ExecStart")[0].split() for task in TASKS if "audit" in task]
    assert {tuple(start[:2]) for start in starts} == {("/usr/bin/flock", "/var/lib/secretsvc-audit/lock")}


@pytest.mark.parametrize("name", ["secretsvc.service", "secretsvc@.service"])
def test_a_service_keeps_the_keys_of_the_proxy_in_its_own_folder(name: str) -> None:
    lines = text(name).splitlines()
    kept = lines.index("Environment=ACCESS_JWKS_CACHE=%S/secretsvc/access-keys.json")
    # The environment file of the deployment wins.
    assert kept < lines.index("EnvironmentFile=/etc/secretsvc/environment")
    assert {"StateDirectory=secretsvc", "StateDirectoryMode=0700"} <= {*lines}
