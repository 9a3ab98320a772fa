"""Who seals in the background: a server alone, and no other process that makes the application."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rotation import Operator
from service import MASTER_KEY

# Each looks at a process of its own.
pytestmark = pytest.mark.slow

#: The first step of whoever seals in the background is told, and the last thing that its process does.
CODE = """
import os, time
from secretsvc.sealedlog.worker import Sealer

def step(sealer):
    print("sealing", flush=True)
    os._exit(0)

Sealer.step = step
try:
    {}
except SystemExit as ended:
    assert not ended.code
print("over")
time.sleep(0.3)
"""
SERVER = "from pyramid.scripts.pserve import main; main(['pserve', 'production.ini', 'listen=127.0.0.1:0'])"
APPLICATION = (
    "from pyramid.paster import get_app; from webtest import TestApp; app = get_app('production.ini')"
)
COMMAND = "from secretsvc.commands import main; main({})"
OTHERS = {
    "the application": f"{APPLICATION}; TestApp(app).get('/api/v1/health')",
    "pshell": "from pyramid.scripts.pshell import main; main(['pshell', '-p', 'python', 'production.ini'])",
    "alembic": "from alembic.config import main; main(['-c', 'production.ini', 'current'])",
    "verify": COMMAND.format(["verify", "production.ini"]),
    "audit tail": COMMAND.format(["audit", "tail", "production.ini"]),
    "audit export": COMMAND.format(["audit", "export", "production.ini", "export"]),
}


@pytest.fixture
def told(vault, database_url, tmp_path):
    """What a process prints that does so, up to a moment after it has; a record waits to be sealed."""
    vault.set(A="x")
    operator = Operator(tmp_path, database_url)
    operator.start_alembic("--help").communicate()

    def run(code):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CODE.format(code)],
            cwd=tmp_path,
            env=operator.environment({"MASTER_KEY": MASTER_KEY}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return done.stdout.split()

    return run


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_who_makes_the_application_without_serving_it_seals_nothing_in_the_background(told, code):
    found = told(code)
    assert ("over" in found, "sealing" in found) == (True, False)


def test_a_server_seals_in_the_background(told):
    assert told(SERVER)[-1] == "sealing"
