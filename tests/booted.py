"""systemd as the first process of a container over this machine's own root, which stays as it is.

The container has the network of this machine, and none of the units of its administrator.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from processes import ROOT
from programs import need
from waiting import eventually

#: $1 is a folder in memory, with `upper` for what is written; the rest is the command of the container.
MOUNTS = """
set -e
cd "$1"
shift
mount --make-rprivate /
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
rm -rf root/etc/systemd/system/*
exec "$@"
"""
NSPAWN = ("--quiet", "--register=no", "--keep-unit", "--console=pipe", "--kill-signal=SIGRTMIN+3", "--boot")
PYTHON = f"/opt/python/bin/python3.{sys.version_info.minor}"
#: The programs of the wheel, by what Python runs.
PROGRAMS = {
    "secretsvc-server": "-c \"from secretsvc.commands import main; main(prog_name='secretsvc-server')\"",
    "pserve": "-m pyramid.scripts.pserve",
}
SECONDS = 300


def paths() -> dict[Path, str]:
    """Return where the container has each folder that Python needs: not every user can enter those here."""
    base = Path(sys.base_prefix)
    own = [Path(one) for one in sys.path if Path(one).is_dir() and not Path(one).is_relative_to(base)]
    packages = {
        one: f"/opt/packages/{number}"
        for number, one in enumerate(own)
        if ROOT not in (one, *one.parents[:1])
    }
    return {base: "/opt/python", ROOT: "/opt/source", **packages}


class Container:
    """A running one; `environment` is that of the commands that it is given."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process, self._folder = process, folder
        self._first: int | None = None

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script of a shell in the container, as root."""
        enter = ["nsenter", "--target", str(self._first), "--mount", "--uts", "--ipc", "--pid"]
        path = "/opt/secretsvc/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return subprocess.run(
            [*enter, "--", "sh", "-euc", script],
            env={"PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def done(self, script: str) -> str:
        """Return the output of a script that must succeed."""
        done = self.run(script)
        journal = "" if done.returncode == 0 else self.run("journalctl --no-pager --lines 60").stdout
        assert done.returncode == 0, done.stdout + done.stderr + journal
        return done.stdout

    def is_up(self) -> bool:
        """Whether systemd answers, or the container has ended."""
        if self._process.poll() is not None:
            return True
        self._first = self._first or next(self._of_its_own(), None)
        return self._first is not None and self.run("systemctl is-active basic.target").returncode == 0

    def ended(self) -> str | None:
        """Return what it said if it has ended by itself."""
        if self._process.poll() is None:
            return None
        return (self._folder / "said").read_text(errors="replace")

    def _of_its_own(self) -> Iterator[int]:
        """Yield the process that is the first in its own namespace."""
        for child in psutil.Process(self._process.pid).children(recursive=True):
            # A child can end while its status is read.
            with suppress(OSError):
                lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
                if any(line.startswith("NSpid:") and line.split()[-1] == "1" for line in lines):
                    yield child.pid


def _stage(upper: Path) -> None:
    """Put the programs of the wheel where the units look for them."""
    programs = upper / "opt" / "secretsvc" / "bin"
    programs.mkdir(parents=True)
    # The source comes first: it is what is tested.
    _, source, *packages = paths().values()
    for name, arguments in PROGRAMS.items():
        search = ":".join([source, *packages])
        # A shared library of Python's is found by a path that not every user may enter.
        line = f'LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH={search} exec {PYTHON} -W ignore {arguments} "$@"'
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)


@contextmanager
def booted() -> Iterator[Container]:
    """A container, or a skipped test where this machine cannot start one."""
    if os.geteuid() != 0:
        pytest.skip("a container of systemd takes root")
    nspawn = need("systemd-nspawn", package="systemd-container")
    # An upper layer must not be within the lower one.
    memory = Path("/dev/shm")  # noqa: S108 - a folder of ours is made in it
    if not memory.is_mount():
        pytest.skip("there is no file system in memory")
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-booted-", dir=memory))
    try:
        for name in ("upper", "work", "root"):
            (folder / name).mkdir(mode=0o755)
        _stage(folder / "upper")
        binds = [f"--bind-ro={there}:{here}" for there, here in paths().items()]
        start = [nspawn, "--directory=root", *NSPAWN, *binds, "--", "systemd.unit=basic.target"]
        with (folder / "said").open("wb") as said:
            command = ["unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(folder), *start]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        container = Container(process, folder)
        try:
            eventually(container.is_up, pause=0.2)
            if (said := container.ended()) is not None:
                pytest.skip(f"this machine starts no container of systemd: {said}")
            yield container
        finally:
            process.terminate()
            process.wait(SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
