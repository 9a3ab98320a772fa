"""docs/operations/backup.md, "A point in time": a database is had back as it was just before a mistake."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from doc_blocks import blocks, pasted
from postgresql_server import PROGRAMS, USER, PostgresqlServer, own_server
from processes import ROOT
from rotation import PROD, fill
from service import Service, arrange
from tokens import TestIssuer
from waiting import eventually

PAGE = (ROOT / "docs" / "operations" / "backup.md").read_text("utf-8")
HEADING = "A point in time"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's user may go through, with one for the archive."""
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-archive-"))
    folder.chmod(0o755)
    (folder / "wal").mkdir(mode=0o700)
    hand_over(folder / "wal")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def hand_over(folder: Path) -> None:
    """To whom the server runs as."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, USER, USER)


def here(script: str, folder: Path) -> str:
    """A block of the page with the paths of a test."""
    script = script.replace("/var/backups", str(folder)).replace("/var/lib/postgresql", str(folder))
    return re.sub("(?m)^pg_", f"{PROGRAMS}/pg_", script)


def settings(folder: Path) -> dict[str, str]:
    """What the page puts into the server's configuration."""
    (block,) = blocks(PAGE, HEADING, "ini")
    lines = [line.partition(" = ") for line in here(block, folder).splitlines()]
    return {name: value for name, _, value in lines}


def test_a_deleted_environment_is_there_again_as_it_was_the_moment_before(
    folder: Path, issuer: TestIssuer
) -> None:
    base, back = blocks(PAGE, HEADING)
    with own_server(folder, **settings(folder)) as server:
        service = Service(server.create_database(), issuer, lent=False)
        admin = arrange(service)
        fill(admin)
        pasted(here(base, folder).replace("db.internal", f"127.0.0.1 port={server.port}"), folder, {})
        admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"AFTER_THE_BASE": "kept"}})
        state = admin.get(f"{PROD}/secrets:export").json
        admin.delete(PROD)
        (mistake,) = service.audit("environment.delete")
        service.close()
        last = server.execute("SELECT pg_walfile_name(pg_switch_wal())")[0][0]
        assert eventually(lambda: (folder / "wal" / last).exists(), pause=0.1)
        server.stop()
        moment = datetime.fromtimestamp((mistake["created_at"] - 1) / 1000, UTC).isoformat(" ")
        pasted(here(back, folder).replace("2026-11-22 14:05:00+00", moment), folder, {})
        restored = PostgresqlServer(folder)
        restored.data = folder / "restored"
        with (restored.data / "postgresql.auto.conf").open("a") as file:
            file.write(f"port = {restored.port}\n")
        hand_over(restored.data)
        restored.start()
        try:
            recovering = "SELECT pg_is_in_recovery()"
            assert eventually(lambda: restored.execute(recovering) == [(False,)], pause=0.1)
            again = Service(restored.url(), issuer, lent=False)
            assert again.user().get(f"{PROD}/secrets:export").json == state
            again.close()
        finally:
            restored.kill()
