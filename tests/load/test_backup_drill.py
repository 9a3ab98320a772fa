"""docs/operations/backup.md as it is pasted: a backup while clients write, restored elsewhere and served."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import blocks, pasted, reached
from history import OK, History, violations
from load.workload import ENVIRONMENT, Workload, arrange, observed
from processes import ROOT, Deployment
from rotation import NEW_KEY, Operator
from service import MASTER_KEY, Service
from waiting import eventually

from secretsvc.commands import system_call
from secretsvc.keyring import domain

PAGE = (ROOT / "docs" / "operations" / "backup.md").read_text("utf-8")
SECTIONS = ("SQLite", "PostgreSQL", "A point in time", "After a restore")
#: Acknowledged writes on either side of the backup.
WRITES = 20


@pytest.fixture
def drill(deployment: Deployment, databases: Any, tmp_path: Path) -> Iterator[Drill]:
    arrange(deployment)
    empty = databases.create_empty()
    yield Drill(deployment, empty, tmp_path / "operator")
    databases.drop(empty)


class Drill:
    """An operator with the page, in a folder of their own that stands for the page's paths."""

    def __init__(self, deployment: Deployment, empty: str, folder: Path) -> None:
        self.deployment, self.empty, self.folder = deployment, empty, folder
        Operator(folder, deployment.url)
        self.backups, self.lib = folder / "backups", folder / "lib"
        for made in (self.backups, self.lib):
            made.mkdir()
        self.is_sqlite = deployment.url.startswith("sqlite")

    def paste(self, script: str, url: str = "", **settings: str) -> str:
        """A script of the page, whose paths are those of this folder."""
        for name, path in (("/var/backups", self.backups), ("/var/lib/secretsvc", self.lib)):
            script = script.replace(name, str(path))
        given = {**self.deployment.settings, "DATABASE_URL": url or self.deployment.url, **settings}
        return pasted(script, self.folder, given)

    def back_up(self) -> None:
        script = blocks(PAGE, "SQLite" if self.is_sqlite else "PostgreSQL")[0]
        self.paste(reached(script, self.deployment.url))

    def restore(self) -> str:
        """By the other block of the section; the URL of the restored database."""
        if not self.is_sqlite:
            self.paste(reached(blocks(PAGE, "PostgreSQL")[1], self.empty))
            return self.empty
        for name in ("secretsvc.sqlite", "secretsvc.sqlite-wal"):
            (self.lib / name).write_text("of before")
        (taken,) = self.backups.iterdir()
        self.paste(blocks(PAGE, "SQLite")[1].replace("secretsvc-2026-11-22.sqlite", taken.name))
        assert sorted(os.listdir(self.lib)) == ["before-restore", "secretsvc.sqlite"]
        return f"sqlite:///{self.lib}/secretsvc.sqlite"

    def look_after(self, url: str) -> None:
        """The block of what follows a restore. The server of the tests does not write to its disk."""
        (block,) = blocks(PAGE, "After a restore")
        steps, check = block.rstrip().rsplit("\n", 1)
        said = self.paste(steps, url) + self.paste(check if self.is_sqlite else f"{check} || true", url)
        assert " 0 unreadable." in said
        failed = {line[6:16].strip() for line in said.splitlines() if line.startswith("fail")}
        assert failed == (set() if self.is_sqlite else {"durability"})

    def served(self, url: str, name: str, **keys: str) -> Deployment:
        """One process over the restored database; a context manager."""
        return Deployment(self.folder / name, url, self.deployment.issuer, **keys).start(1)


def asked(copy: Deployment, method: str, path: str, body: Any = None) -> Any:
    client = copy.client()
    try:
        return client.expect(200, method, path, body).json
    finally:
        client.close()


def written(copy: Deployment, key: str) -> Any:
    """Writes one secret; the environment's export after that."""
    asked(copy, "POST", f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": {key: "written"}})
    return asked(copy, "GET", f"{ENVIRONMENT}/secrets:export")


def enough(load: Workload, count: int) -> Callable[[], bool]:
    return lambda: sum(one.outcome == OK for one in list(load.writes)) >= count


def of_then(load: Workload, copy: Deployment, began: float) -> History:
    """What the clients saw of what the copy may hold: all but what was written after it and asked of that."""
    rev = asked(copy, "GET", ENVIRONMENT)["rev"]
    # Whatever was acknowledged before the backup began is kept, and missed if it is not there.
    writes = [
        one
        for one in load.writes
        if (one.outcome != OK or (one.rev or 0) <= rev or one.ended < began)
        and not (one.status == 412 and (one.expected or 0) >= rev)
    ]
    return observed(copy, writes, [one for one in load.exports if one.etag <= rev])


def test_a_backup_under_load_is_restored_whole_and_served_with_the_keys_of_then_and_of_now(
    drill: Drill,
) -> None:
    with Workload(drill.deployment, 0.1, writers=6) as load:
        assert eventually(enough(load, WRITES))
        began, before = time.monotonic(), len(load.writes)
        drill.back_up()
        assert eventually(enough(load, sum(one.outcome == OK for one in load.writes[:before]) + WRITES))
    url = drill.restore()
    drill.look_after(url)
    with drill.served(url, "then") as copy:
        history = of_then(load, copy, began)
        assert violations(history) == []
        assert WRITES <= history.final.rev < max(one.rev or 0 for one in load.writes)
        state = written(copy, "THEN")
    # To start another process takes longer than all that is asked of it.
    now = Service(url, drill.deployment.issuer, lent=False, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    admin = now.user()
    assert admin.get(f"{ENVIRONMENT}/secrets:export").json == state
    admin.post(f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": {"NOW": "written"}})
    now.close()
    # The key of now alone opens what was written since, and nothing of then.
    alone = Service(url, drill.deployment.issuer, lent=False, MASTER_KEY=NEW_KEY)
    with system_call(alone.app.registry, writes=False) as call:
        found = [*domain.verify_envelopes(call)]
    alone.close()
    assert Counter(one and one.code for one in found) == {None: 1, "UNKNOWN_KID": len(found) - 1}


def test_every_block_of_the_page_that_is_to_be_pasted_is_pasted_here() -> None:
    assert [len(blocks(PAGE, name)) for name in SECTIONS] == [2, 2, 2, 1]
    assert PAGE.count("```bash\n") == 7
