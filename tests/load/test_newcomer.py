"""A newcomer with the wheel and the pages alone, from an empty machine to a failover.

The blocks are the pages', in the order in which one needs them; the test adds paths, ports and the settings
that a page says are the reader's own. It takes a minute or more: packages are installed, processes restarted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from doc_blocks import blocks, reached
from load.newcomer import Front, Machine, fetched, make_roles, page
from load.test_failover import execute, standby_of, url_of_both
from load.test_in_front import uncommented
from postgresql_server import PROGRAMS, PostgresqlServer, own_server
from processes import free_port
from programs import need
from service import ADMIN
from tls import authority
from tokens import TestIssuer
from waiting import eventually
from wheels import copy_source, make_dist

SECRETS = "/projects/shop/environments/prod/secrets"
#: The pages whose blocks are pasted here, or read in another language.
PAGES = ("installing.md", "backup.md", "key-rotation.md", "high-availability.md", "monitoring.md")
DATABASE, TROUBLE = "database.md", "troubleshooting.md"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the servers' user may go through."""
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-newcomer-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def machine(folder: Path, issuer: TestIssuer) -> Iterator[Machine]:
    made = Machine(folder, {**issuer.environment(), "BOOTSTRAP_ADMINS": ADMIN, "DRAIN_SECONDS": "5"})
    yield made
    made.stop()


def url(server: PostgresqlServer, role: str) -> str:
    return server.url().replace("postgres@", f"{role}@")


def install(machine: Machine) -> None:
    """The wheel, outside the source."""
    make_dist(copy_source(machine.folder / "source")).rename(machine.data / "dist")
    machine.paste(machine.block("installing.md", "The wheel and its commands"))
    shutil.rmtree(machine.folder / "source")
    where = machine.paste("python -c 'import secretsvc; print(secretsvc.__file__)'")
    assert where.startswith(str(machine.folder / "opt"))


def set_up(machine: Machine, primary: PostgresqlServer, standby: PostgresqlServer) -> None:
    """The ini, the roles, the schema, two processes."""
    machine.make_user()
    machine.paste(machine.block("installing.md", "The wheel and its commands", 2))
    (limits,) = blocks(page(DATABASE), "PgBouncer", "sql")
    for statement in filter(str.strip, limits.split(";")):
        primary.execute(statement, "postgres")
    migrate, check = machine.block("installing.md", "The wheel and its commands", 3).splitlines()
    machine.paste(migrate, DATABASE_URL=url(primary, "secretsvc_owner"))
    machine.environment["DATABASE_URL"] = url_of_both(primary, standby, "secretsvc")
    machine.environment["MASTER_KEY_FILE"] = str(machine.data / "master-key")
    machine.paste(check)
    machine.serve_alone()
    machine.put_in_place()
    assert len(machine.units) == 2


@contextmanager
def balanced(machine: Machine, issuer: TestIssuer) -> Iterator[Front]:
    """HAProxy with TLS by the file that `init` wrote, until the end of the context."""
    certificate, port = authority(machine.folder, "front"), free_port()
    ports = [(unit.port, unit.operations) for unit in machine.units]
    file = machine.folder / "haproxy.cfg"
    sample = (machine.data / "deploy" / "haproxy.cfg").read_text()
    file.write_text(uncommented(sample, ports, port, certificate))
    with (machine.folder / "haproxy").open("wb") as told:
        process = subprocess.Popen([need("haproxy"), "-db", "-f", file], stdout=told, stderr=told)
    try:
        yield Front(f"https://127.0.0.1:{port}", issuer.sign(ADMIN, lifetime=3600), certificate)
    finally:
        process.terminate()
        process.wait()


def write(front: Front, key: str) -> int:
    return front.ask("POST", f"{SECRETS}:batch", {"mode": "merge", "set": {key: "kept"}})[0]


def keys(front: Front) -> list[str]:
    """Those whose values are as they were written."""
    status, found = front.ask("GET", f"{SECRETS}:export")
    assert status == 200, found
    return sorted(key for key, value in found["secrets"].items() if value == "kept")


def watch(machine: Machine) -> None:
    """Every target of the page's configuration has figures."""
    (block,) = blocks(page("monitoring.md"), "Monitoring", "yaml")
    (job,) = yaml.safe_load(block)["scrape_configs"]
    (targets,) = (one["targets"] for one in job["static_configs"])
    for shown, unit in zip(targets, machine.units, strict=True):
        assert re.fullmatch(r"127\.0\.0\.1:1654\d", shown)
        status, told = fetched(f"http://127.0.0.1:{unit.operations}/metrics")
        assert (status, b"\nsecretsvc_ready 1" in told) == (200, True)


def back_up_and_restore(machine: Machine, primary: PostgresqlServer, other: PostgresqlServer) -> None:
    """By the owner, to another server with new roles; every envelope opens there."""
    dump, restore = blocks(page("backup.md"), "PostgreSQL")
    machine.paste(reached(dump, url(primary, "secretsvc_owner"), PROGRAMS))
    make_roles(other, for_a_dump=True)
    machine.paste(reached(restore, url(other, "secretsvc_owner"), PROGRAMS))
    told = machine.paste(
        machine.block("backup.md", "After a restore"), DATABASE_URL=url(other, "secretsvc_owner")
    )
    assert "1 envelopes, 0 unreadable." in told
    check = machine.block("backup.md", "After a restore").splitlines()[-1]
    assert "ok    rights " in machine.paste(check, DATABASE_URL=url(other, "secretsvc"))


def read_copy(machine: Machine, other: PostgresqlServer, token: str, **ring: str) -> list[str]:
    """What a process over the restored database reads, with the machine's keys or with others beside them."""
    with machine.serving(token, DATABASE_URL=url(other, "secretsvc"), **ring) as copy:
        return keys(copy)


def rotate(machine: Machine, front: Front) -> Path:
    """The steps of the page; this machine's keys are in files. The file of the key of before."""
    new, rekey = blocks(page("key-rotation.md"), "The steps")
    old, key = machine.data / "master-key", machine.data / "new-key"
    key.write_text(machine.paste(new))
    machine.restart(MASTER_KEY_FILE=str(old), MASTER_KEY_OLD_FILE=str(key))
    machine.restart(MASTER_KEY_FILE=str(key), MASTER_KEY_OLD_FILE=str(old))
    assert write(front, "ROTATED") == 200
    assert "Every envelope is under the active key." in machine.paste(rekey)
    assert front.ask("GET", "/admin/keyring")[1]["safeToRemoveOldKey"] is True
    del machine.environment["MASTER_KEY_OLD_FILE"]
    machine.restart()
    assert " 0 unreadable." in machine.paste("secretsvc-server verify production.ini")
    return old


def fail_over(machine: Machine, front: Front, primary: PostgresqlServer, standby: PostgresqlServer) -> None:
    """The primary is gone; nothing is restarted."""
    primary.kill()
    assert write(front, "MEANWHILE") in (0, 500, 503)
    execute(standby, "A failover")
    assert eventually(lambda: write(front, "AFTERWARDS") == 200, pause=0.2)


def test_a_newcomer_comes_from_an_empty_machine_to_a_failover(
    folder: Path, machine: Machine, issuer: TestIssuer
) -> None:
    need("haproxy")
    durable = {"fsync": "on"}
    with own_server(folder, **durable) as primary, own_server(folder, **durable) as other:
        make_roles(primary)
        standby = standby_of(primary, folder / "standby")
        try:
            execute(primary, "A synchronous standby")
            install(machine)
            set_up(machine, primary, standby)
            with balanced(machine, issuer) as front:
                assert eventually(lambda: front.ask("GET", "/health")[0] == 200)
                assert front.ask("POST", "/projects", {"slug": "shop", "name": "Shop"})[0] == 201
                made = {"slug": "prod", "name": "Prod"}
                assert front.ask("POST", "/projects/shop/environments", made)[0] == 201
                assert write(front, "FIRST") == 200
                watch(machine)
                back_up_and_restore(machine, primary, other)
                assert read_copy(machine, other, front.token) == ["FIRST"]
                old = rotate(machine, front)
                assert read_copy(machine, other, front.token, MASTER_KEY_OLD_FILE=str(old)) == ["FIRST"]
                fail_over(machine, front, primary, standby)
                assert {"FIRST", "ROTATED", "AFTERWARDS"} <= {*keys(front)}
                (trouble,) = blocks(page(TROUBLE), "Troubleshooting")
                machine.paste(trouble)
        finally:
            standby.kill()


def test_every_block_of_the_pages_that_is_to_be_pasted_is_pasted_here_or_in_their_own_tests() -> None:
    counts = {name: page(name).count("```bash\n") for name in (*PAGES, DATABASE, TROUBLE)}
    assert counts == {
        "installing.md": 8,
        "backup.md": 7,
        "key-rotation.md": 2,
        "high-availability.md": 1,
        "monitoring.md": 0,
        DATABASE: 0,
        TROUBLE: 1,
    }
