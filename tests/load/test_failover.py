"""docs/operations/high-availability.md as it is pasted: a standby takes over, and loses nothing.

`make faults` does the same under load.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_blocks import blocks, pasted
from load.workload import ENVIRONMENT, Broken, arrange
from postgresql_server import PROGRAMS, USER, PostgresqlServer, own_server
from processes import ROOT, Deployment, HttpClient
from tokens import TestIssuer
from waiting import eventually

PAGE = (ROOT / "docs" / "operations" / "high-availability.md").read_text("utf-8")
WRITES = 10


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the servers' user may go through."""
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-failover-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def execute(server: PostgresqlServer, heading: str) -> None:
    """The statements of a section."""
    (block,) = blocks(PAGE, heading, "sql")
    for statement in filter(str.strip, block.split(";")):
        server.execute(statement, "postgres")


def standby_of(primary: PostgresqlServer, folder: Path) -> PostgresqlServer:
    """A running one, made by the page's command."""
    made = PostgresqlServer(folder)
    folder.mkdir()
    (script,) = blocks(PAGE, "A synchronous standby")
    script = script.replace("/var/lib/postgresql/data", str(made.data)).replace(
        "host=one.internal", f"host=127.0.0.1 port={primary.port}"
    )
    pasted(f"{PROGRAMS}/{script}", folder, {})
    with (made.data / "postgresql.auto.conf").open("a") as file:
        file.write(f"port = {made.port}\n")
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, USER, USER)
    made.start()
    return made


def url_of_both(primary: PostgresqlServer, standby: PostgresqlServer, user: str = "postgres") -> str:
    """That of the page, for a role."""
    (line,) = blocks(PAGE, "A synchronous standby", "ini")
    url = line.strip().removeprefix("DATABASE_URL=")
    for name, server in (("one", primary), ("two", standby)):
        url = url.replace(f"{name}.internal:5432", f"127.0.0.1:{server.port}")
    return url.replace("secretsvc@", f"{user}@")


def written(client: HttpClient, number: int) -> int:
    """The status of a write of that key; 0 where no answer came."""
    body = {"mode": "merge", "set": {f"KEY_{number}": str(number)}}
    try:
        return client.request("POST", f"{ENVIRONMENT}/secrets:batch", body).status
    except Broken:
        return 0


def test_a_standby_takes_over_with_every_acknowledged_write_and_without_a_restart(
    folder: Path, issuer: TestIssuer, tmp_path: Path
) -> None:
    with own_server(folder) as primary:
        primary.create_database()
        standby = standby_of(primary, folder / "standby")
        try:
            execute(primary, "A synchronous standby")
            state = "SELECT sync_state FROM pg_stat_replication"
            assert eventually(lambda: primary.execute(state) == [("sync",)], pause=0.1)
            with Deployment(tmp_path, url_of_both(primary, standby), issuer) as deployment:
                arrange(deployment.start(1))
                client = deployment.client()

                assert [written(client, number) for number in range(WRITES)] == [200] * WRITES
                primary.kill()
                assert written(client, WRITES) in (500, 503)
                execute(standby, "A failover")
                assert eventually(lambda: written(client, WRITES) == 200, pause=0.2)
                found = client.expect(200, "GET", f"{ENVIRONMENT}/secrets:export").json["secrets"]
                assert found == {f"KEY_{number}": str(number) for number in range(WRITES + 1)}
                client.close()
        finally:
            standby.kill()
