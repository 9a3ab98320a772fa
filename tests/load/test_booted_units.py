"""The units of deploy/ under a systemd of their own, by the commands of the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from booted import Container, booted, paths
from databases import ENGINES
from doc_blocks import blocks
from jwks_server import KeyServer, answer
from load.newcomer import fetched, make_roles, ports
from postgresql_server import PROGRAMS, own_server
from processes import ROOT, HttpClient
from service import ADMIN
from waiting import eventually

DOCS = ROOT / "docs"
INSTALLING = (DOCS / "operations" / "installing.md").read_text("utf-8")
BACKUP = (DOCS / "operations" / "backup.md").read_text("utf-8")
AUDIT = (DOCS / "audit.md").read_text("utf-8")
SQLITE = {"DATABASE_URL": "sqlite:////var/lib/secretsvc/secretsvc.sqlite"}


def lines(settings: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def file(path: str, settings: dict[str, str]) -> str:
    """The command that writes a file which only root may read."""
    return f"umask 077\ncat > {path} <<'END'\n{lines(settings)}END\numask 022\n"


@pytest.fixture
def container() -> Iterator[Container]:
    with booted() as made:
        yield made


@pytest.fixture(params=ENGINES)
def urls(request: pytest.FixtureRequest, container: Container) -> Iterator[dict[str, dict[str, str]]]:
    """The settings of the service, and of the owner of the tables where there is one."""
    if request.param == "sqlite":
        yield {"service": SQLITE, "owner": {}}
        return
    with own_server() as server:
        make_roles(server)
        at = f"127.0.0.1:{server.port}/secretsvc"
        owner = {"DATABASE_URL": f"postgresql://secretsvc_owner:one@{at}", "PGHOST": "127.0.0.1"}
        owner |= {"PGPORT": str(server.port), "PGDATABASE": "secretsvc"}
        owner |= {"PGUSER": "secretsvc_owner", "PGPASSWORD": "one"}
        yield {"service": {"DATABASE_URL": f"postgresql://secretsvc:another@{at}"}, "owner": owner}


def install(container: Container, environment: dict[str, str], owner: dict[str, str], port: int) -> None:
    """Follow the page of installing, for one process."""
    user = blocks(INSTALLING, "The wheel and its commands")[1]
    units = blocks(INSTALLING, "Under a service manager")[0]
    container.done(user)
    container.done("runuser -u secretsvc -- secretsvc-server init /var/lib/secretsvc")
    container.done(f"cd /root\n{file('environment', environment)}")
    placed = units.replace("secretsvc@6543 secretsvc@6544", f"secretsvc@{port}")
    *before, enable = placed.splitlines()
    container.done("\n".join(["cd /root", *before]))
    if owner:
        container.done(file("/etc/secretsvc/owner", owner))
    settings = "".join(
        f". /etc/secretsvc/{name}\n" for name in ("environment", *(["owner"] if owner else []))
    )
    migrate = "runuser -u secretsvc -- secretsvc-server migrate /etc/secretsvc/production.ini"
    container.done(f"set -a\n{settings}set +a\n{migrate}")
    container.done(enable)


def is_ready(port: int) -> bool:
    return fetched(f"http://127.0.0.1:1{port}/ready")[0] == 200


def is_due(container: Container, task: str) -> bool:
    """Whether the timer of a task has a next time."""
    due = container.done(f"systemctl show --property NextElapseUSecRealtime {task}.timer")
    return bool(re.search(r"=\w", due))


def start_task(container: Container, task: str) -> None:
    """Start the timer of a task, and run the task once."""
    container.done(f"systemctl enable --now {task}.timer\nsystemctl start {task}.service")
    assert is_due(container, task)


def test_the_units_do_their_work_under_systemd(
    container: Container, urls: dict[str, dict[str, str]], issuer: Any
) -> None:
    port, _ = ports()
    assert len(str(port)) == 4
    with KeyServer(answer(Path(issuer.jwks_url.removeprefix("file://")).read_bytes())) as keys:
        environment = {**issuer.environment(ACCESS_JWKS_URL=keys.url), "BOOTSTRAP_ADMINS": ADMIN}
        environment |= {"MASTER_KEY_FILE": "/var/lib/secretsvc/master-key", **urls["service"]}
        install(container, environment, urls["owner"], port)
        assert eventually(lambda: is_ready(port), pause=0.2)
        client = HttpClient(port, issuer.sign(ADMIN, lifetime=3600))
        client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        client.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
        secret = {"mode": "merge", "set": {"KEY": "kept"}}
        client.expect(200, "POST", "/projects/shop/environments/prod/secrets:batch", secret)
        client.close()
    # The source of the proxy's keys is gone, and the process that starts has them from its folder.
    container.done(f"systemctl restart secretsvc@{port}")
    assert eventually(lambda: is_ready(port), pause=0.2)
    core = container.done(f"cat /proc/$(systemctl show --value -p MainPID secretsvc@{port})/limits")
    assert re.search(r"(?m)^Max core file size +0 +0 ", core)
    export_and_verify(container)
    back_up(container, is_sqlite=not urls["owner"])
    folders = "/var/lib/secretsvc /var/lib/secretsvc-audit /var/lib/secretsvc-backups"
    # `init` writes the ini file and `deploy/` for everybody: neither holds a secret.
    public = "! -path '*/secretsvc/deploy*' ! -path '*/secretsvc/production.ini'"
    opened = f"find {folders} {public} '(' ! -user secretsvc -o -perm /077 ')'"
    assert container.done(opened) == ""
    assert container.done("systemctl list-units --failed --no-legend 'secretsvc*'") == ""


def export_and_verify(container: Container) -> None:
    (block,) = blocks(AUDIT, "On a schedule", "sh")
    container.done(block)
    start_task(container, "secretsvc-audit-export")
    export = "/var/lib/secretsvc-audit/export"
    container.done(f'umask 077\necho "AUDIT_KEY=$(cat {export}/key)" > /etc/secretsvc/audit-key')
    start_task(container, "secretsvc-audit-verify")
    container.done(f"mv {export}/tile {export}/away")
    assert container.run("systemctl start secretsvc-audit-verify.service").returncode == 1
    container.done(f"mv {export}/away {export}/tile\nsystemctl start secretsvc-audit-verify.service")
    start_task(container, "secretsvc-audit-prune")
    # There are too few records to close the export.
    container.done("systemctl enable --now secretsvc-audit-close.timer")
    assert is_due(container, "secretsvc-audit-close")


def back_up(container: Container, *, is_sqlite: bool) -> None:
    (block,) = blocks(BACKUP, "On a schedule", "sh")
    task = "secretsvc-backup" if is_sqlite else "secretsvc-backup-postgresql"
    if not is_sqlite:
        # The programs of the server's own version.
        root, there = next(one for one in paths().items() if PROGRAMS.is_relative_to(one[0]))
        program = f"{there}/{PROGRAMS.relative_to(root)}/pg_dump"
        container.done(f"ln -s {program} /usr/local/bin/pg_dump")
    # The block starts the service itself: a second run in the same second would want the same name.
    container.done(block.replace("secretsvc-backup", task))
    assert is_due(container, task)
    (name, *others) = container.done("ls -A /var/lib/secretsvc-backups").split()
    assert re.fullmatch(r"secretsvc-\d{8}T\d{6}Z\.(sqlite|dump)", name)
    assert not [one for one in others if one.endswith(".partial")]
    head = container.done(f"head -c 15 /var/lib/secretsvc-backups/{name}")
    assert head.startswith("SQLite format 3" if is_sqlite else "PGDMP")
