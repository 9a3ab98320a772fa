"""A key rotation as tests stage it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from processes import ROOT
from service import MASTER_KEY, Client, Service

from secretsvc.commands import system_call
from secretsvc.keyring import domain
from secretsvc.keyring.domain import Adopted

NEW_KEY = base64.b64encode(bytes(range(32, 64))).decode()
NEXT_KEY = base64.b64encode(bytes(range(64, 96))).decode()
PROD = "/projects/shop/environments/prod"


def rotated(service: Service, **settings: str) -> Service:
    """The service after the swap: the new key seals, the old one opens."""
    return service.restarted(MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY, **settings)


def adopt(service: Service) -> Adopted:
    """Takes the service's active key into use, as the script does."""
    with system_call(service.app.registry, writes=True) as call:
        return domain.adopt(call)


def fill(admin: Client, count: int = 5) -> None:
    """Current, historical and deleted versions."""
    keys = [f"KEY_{number}" for number in range(count)]
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": dict.fromkeys(keys, "one")})
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": dict.fromkeys(keys[1:], "two")})
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "delete": [keys[-1]]})


class Operator:
    """Whoever runs the console script, in a folder of their own with a copy of production.ini."""

    def __init__(self, directory: Path, url: str) -> None:
        self.directory, self.url = directory, url
        directory.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "production.ini", directory)

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": self.url, **settings}

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Starts a subcommand; settings are environment variables."""
        code = "from secretsvc.commands import main; main(prog_name='secretsvc-server')"
        return self._start(code, *arguments, **settings)

    def start_alembic(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts Alembic, over the migrations of the source."""
        if not (self.directory / "alembic").exists():
            (self.directory / "alembic").symlink_to(ROOT / "alembic")
        return self._start("from alembic.config import main; main()", "-c", "production.ini", *arguments)

    def _start(self, code: str, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, *arguments],
            cwd=self.directory,
            env=self.environment(settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Runs a subcommand to its end."""
        process = self.start(*arguments, **settings)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


class Forks:
    """A process that runs subcommands in forks of itself; a context manager."""

    def __enter__(self) -> Forks:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", Path(__file__).parent / "cli_runner.py"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, operator: Operator, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """As `Operator.run`, without another start of the interpreter."""
        outputs = [operator.directory / name for name in ("stdout", "stderr")]
        order = {
            "directory": str(operator.directory),
            "environment": operator.environment(settings),
            "arguments": arguments,
            "outputs": [str(path) for path in outputs],
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(arguments, code, *(path.read_text() for path in outputs))
