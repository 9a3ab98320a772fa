"""The unit of docs/use/machines.md, under a systemd of its own."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from booted import PYTHON, booted
from recipes import SHOW, VALUES, blocks
from waiting import eventually

#: The client of this source, for every user of the container.
CLIENT = f"""#!/bin/sh
LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/source/client exec {PYTHON} -m secretsvc_client "$@"
"""
#: Crashes as Go programs do, until somebody mends it.
SHOP = f"""#!/bin/sh
test -e /run/mended || exit 2
{PYTHON} - <<'PROGRAM'
{SHOW}
PROGRAM
exec sleep 600
"""


def unit(url):
    (text,) = blocks("use/machines.md", "ini")
    return text.replace("https://secrets.example.com", url).replace("RestartSec=5", "RestartSec=100ms")


def test_systemd_finds_no_fault_in_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    text = unit("https://secrets.example.com")
    for program in ("secretsvc", "shop"):
        text = text.replace(f"/usr/local/bin/{program}", "/bin/true")
    file = tmp_path / "shop.service"
    file.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True, check=False
    )
    assert "shop.service" not in done.stderr, done.stderr


@pytest.fixture
def container(machine):
    with booted() as made:
        files = {
            "/usr/local/bin/secretsvc": (CLIENT, "755"),
            "/usr/local/bin/shop": (SHOP, "755"),
            "/etc/shop/secretsvc.token": (machine.token.read_text() + "\n", "600"),
            "/etc/systemd/system/shop.service": (unit(machine.url), "644"),
        }
        made.done("mkdir /etc/shop")
        for path, (text, mode) in files.items():
            made.done(f"cat > {path} <<'END-OF-FILE'\n{text}END-OF-FILE\nchmod {mode} {path}")
        yield made


def test_systemd_restarts_an_application_that_exits_with_2_and_it_has_the_values(container):
    container.done("systemctl daemon-reload\nsystemctl start shop")
    restarts = "systemctl show --property NRestarts --value shop"
    assert eventually(lambda: int(container.done(restarts)) >= 2, pause=0.2)
    container.done("touch /run/mended")
    journal = "journalctl --unit shop --output cat --no-pager | grep -h '^{' || true"
    assert eventually(lambda: container.done(journal), pause=0.2)
    assert json.loads(container.done(journal)) == VALUES
    assert container.done("systemctl is-active shop").strip() == "active"
