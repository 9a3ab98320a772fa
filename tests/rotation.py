"""A key rotation as tests stage it."""

from __future__ import annotations

import base64
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

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Starts a subcommand; settings are environment variables."""
        code = "from secretsvc.commands import main; main(prog_name='secretsvc-server')"
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, *arguments],
            cwd=self.directory,
            env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": self.url, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Runs a subcommand to its end."""
        process = self.start(*arguments, **settings)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
