"""A cluster of Patroni's by the file on the page of high availability: it promotes, and we lose nothing.

It takes half a minute, most of which is waiting: so long a member that is gone is still believed to lead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import yaml
from databases import migrate
from doc_blocks import blocks
from load.test_failover import PAGE, url_of_both, written
from load.workload import ENVIRONMENT, arrange
from postgresql_server import PROGRAMS, SECONDS, as_user, hand_over
from processes import Deployment, free_port
from tokens import TestIssuer
from waiting import eventually

PASSWORD = "of-the-test"
SECRETS = {f"PATRONI_{role}_PASSWORD": PASSWORD for role in ("SUPERUSER", "REPLICATION")}
#: The least that Patroni takes; its own are 30 and 10 seconds.
SOONER = {"ttl": 20, "loop_wait": 1, "retry_timeout": 3}
WRITES = 5


def installed(name: str, package: str) -> str:
    """The path of a program of the system: the Patroni beside the tests has no client of etcd."""
    found = shutil.which(name, path="/usr/local/bin:/usr/bin")
    if found is None:
        pytest.skip(f"{name} is missing; on Debian: apt-get install {package}")
    return found


class Program:
    """A program as the servers' user, with what it starts."""

    def __init__(self, folder: Path, name: str, *command: str | Path) -> None:
        self.folder, self.name, self.command = folder, name, command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        with (self.folder / f"{self.name}.log").open("ab") as said:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env={"PATH": path, "HOME": str(self.folder), **SECRETS},
                stdout=said,
                stderr=said,
                **as_user(),
            )

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(SECONDS)


class Member(Program):
    """One of the page's cluster, on ports of its own."""

    def __init__(self, folder: Path, name: str, etcd: int) -> None:
        self.port, self.rest = free_port(), free_port()
        super().__init__(folder, name, installed("patroni", "patroni"), folder / f"{name}.yaml")
        (block,) = blocks(PAGE, "Patroni", "yaml")
        member = yaml.safe_load(block)
        member["name"], member["etcd3"]["hosts"] = name, [f"127.0.0.1:{etcd}"]
        member["restapi"] = dict.fromkeys(("listen", "connect_address"), f"127.0.0.1:{self.rest}")
        member["bootstrap"]["dcs"] |= SOONER
        member["postgresql"] |= dict.fromkeys(("listen", "connect_address"), f"127.0.0.1:{self.port}")
        member["postgresql"]["data_dir"] = str(folder / name)
        member["postgresql"]["parameters"] = {"unix_socket_directories": str(folder)}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(member))

    def kill(self) -> None:
        """As a machine that is gone, with its server, which is no child of Patroni's."""
        super().kill()
        with suppress(OSError, psutil.NoSuchProcess):
            data = self.folder / self.name
            first, *_ = (data / "postmaster.pid").read_text().split()
            server = psutil.Process(int(first))
            # Of a server that has ended before, the number may be somebody else's by now.
            for one in (server, *server.children(recursive=True)) if str(data) in server.cmdline() else ():
                with suppress(psutil.NoSuchProcess):
                    one.kill()

    def roles(self) -> dict[str, str]:
        """What it says of who is what, of those who run."""
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/cluster") as answer:
            members = json.load(answer)["members"]
            return {one["name"]: one["role"] for one in members if one["state"] in ("running", "streaming")}
        return {}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the servers' user."""
    outer = Path(tempfile.mkdtemp(prefix="secretsvc-patroni-"))
    outer.chmod(0o755)
    folder = outer / "members"
    folder.mkdir()
    hand_over(folder)
    yield folder
    shutil.rmtree(outer, ignore_errors=True)


@pytest.fixture
def members(folder: Path) -> Iterator[tuple[Member, Member]]:
    """The leader, and whom it waits for with every COMMIT."""
    clients, peers = free_port(), free_port()
    addresses = {"client": f"http://127.0.0.1:{clients}", "peer": f"http://127.0.0.1:{peers}"}
    options = [f"--listen-{kind}-urls={url}" for kind, url in addresses.items()]
    options += [f"--advertise-client-urls={addresses['client']}", f"--data-dir={folder / 'etcd'}"]
    options += [
        f"--initial-advertise-peer-urls={addresses['peer']}",
        f"--initial-cluster=default={addresses['peer']}",
    ]
    etcd = Program(folder, "etcd", installed("etcd", "etcd-server"), *options)
    one, two = (Member(folder, name, clients) for name in ("one", "two"))
    try:
        etcd.start()
        one.start()
        assert eventually(lambda: one.roles() == {"one": "leader"}, pause=0.2), said_in(folder)
        two.start()
        follows = {"one": "leader", "two": "sync_standby"}
        assert eventually(lambda: one.roles() == follows, pause=0.2), said_in(folder)
        yield one, two
    finally:
        for program in (one, two, etcd):
            program.kill()


def said_in(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace")[-2000:] for path in folder.glob("*.log"))


def test_patroni_promotes_and_every_acknowledged_write_is_there_without_a_hand(
    folder: Path, members: tuple[Member, Member], issuer: TestIssuer, tmp_path: Path
) -> None:
    one, two = members
    url = url_of_both(one, two, f"postgres:{PASSWORD}").replace("/secretsvc?", "/postgres?")
    migrate(url)
    with Deployment(tmp_path, url, issuer) as deployment:
        arrange(deployment.start(1))
        client = deployment.client()

        assert [written(client, number) for number in range(WRITES)] == [200] * WRITES
        one.kill()
        assert written(client, WRITES) in (500, 503)
        assert eventually(lambda: two.roles().get("two") == "leader", pause=0.5), said_in(folder)
        # It comes back, and does not lead: until then nothing is acknowledged.
        one.start()
        assert eventually(lambda: two.roles() == {"one": "sync_standby", "two": "leader"}, pause=0.2), (
            said_in(folder)
        )
        assert eventually(lambda: written(client, WRITES) == 200, pause=0.2)
        found = client.expect(200, "GET", f"{ENVIRONMENT}/secrets:export").json["secrets"]
        assert found == {f"KEY_{number}": str(number) for number in range(WRITES + 1)}
        client.close()
