"""Two releases over one database, under load, while the newer one's migration is applied."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import recorded_requests
from alembic.config import Config
from alembic.script import ScriptDirectory
from databases import PostgresqlDatabases
from faults.fault import readiness
from history import violations
from load.workload import Workload, arrange
from next_release import CONTRACTS, EXPANDS, NUMBER, VERSION, NextRelease
from processes import Deployment, HttpClient, free_port
from rotation import Operator
from schema_removals import wrongly_named
from service import ADMIN, MASTER_KEY
from tokens import TestIssuer
from waiting import eventually

from secretsvc.db.engine import make_engine
from secretsvc.kernel import release

SECONDS = 1.5
SOON = 60.0
#: Those under which the exchanges were recorded.
SETTINGS = {"SERVICE_TOKENS": "on"}
CALLERS = {"admin": ADMIN, "reader": "reader@example.com", "stranger": "stranger@example.com"}


def migrate(following: NextRelease, url: str) -> None:
    done = Operator(following.source, url).run("migrate", "production.ini", MASTER_KEY=MASTER_KEY)
    assert (done.returncode, done.stdout) == (0, f"The schema is at {NUMBER}.\n"), done.stderr


@pytest.fixture
def old(database_url: str, issuer: TestIssuer, tmp_path: Path):
    """A process of this release."""
    watched = {"OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"}
    with Deployment(tmp_path / "deployment", database_url, issuer, **watched) as deployment:
        yield deployment.start(1)


def refusal(client: HttpClient) -> tuple[int, str]:
    answer = client.request("GET", "/projects")
    client.close()
    return answer.status, answer.json["code"]


def until_ready_is(deployment: Deployment, status: int, reason: str = "") -> None:
    deadline = time.monotonic() + SOON
    while True:
        found, told = readiness(deployment)
        if found == status and reason in told:
            return
        assert time.monotonic() < deadline, (found, told)
        time.sleep(0.2)


def test_after_a_migration_that_only_adds_both_releases_serve_and_nothing_is_lost(
    old: Deployment, tmp_path: Path
) -> None:
    arrange(old)
    following = NextRelease(tmp_path / "source", EXPANDS)
    until_ready_is(old, 200)
    with Workload(old) as before:
        time.sleep(SECONDS)
        migrate(following, old.url)
        time.sleep(SECONDS)
    until_ready_is(old, 200)
    following.process(old, OPERATIONS_LISTEN=f"127.0.0.1:{free_port()}").start()
    beside = Workload(old)
    # Each write of both has a name of its own.
    beside._numbers = itertools.count(len(before.writes))
    with beside:
        time.sleep(2 * SECONDS)
    until_ready_is(old, 200)
    for load in (before, beside):
        print(f"\n{dict(Counter(load.statuses))}")
        assert {*load.statuses} <= {200, 409, 412}, Counter(load.statuses)
    beside.writes = [*before.writes, *beside.writes]
    beside.exports = [*before.exports, *beside.exports]
    assert violations(beside.history()) == []


def test_after_one_that_takes_away_the_old_release_refuses_and_the_next_serves(
    old: Deployment, tmp_path: Path
) -> None:
    arrange(old)
    following = NextRelease(tmp_path / "source", CONTRACTS)
    with Workload(old) as load:
        time.sleep(SECONDS)
        migrate(following, old.url)
        until_ready_is(old, 503, "schema_not_served")
        assert refusal(old.client()) == (500, "SERVER_MISCONFIGURED")
    assert {*load.statuses} <= {200, 409, 412, 500}, Counter(load.statuses)
    old.processes[0].stop()
    new = following.process(old)
    new.start()
    old.processes.reverse()
    assert violations(load.history()) == []


class OverTheWire:
    """What `exchanges` asks of a client, by a process."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client

    def request(self, method: str, path: str, json: Any = None, *, headers: dict[str, str]) -> Any:
        answer = self.client.request(method, path, json, headers=headers)
        names = {name.lower(): name for name in recorded_requests.HEADERS}
        text = answer.body.decode()
        kind = answer.headers.get("content-type", "")
        return SimpleNamespace(
            status_int=answer.status,
            headers={names[name]: value for name, value in answer.headers.items() if name in names},
            text=text,
            json=answer.json if kind.startswith("application/json") else None,
        )


def is_sealed(admin: HttpClient) -> bool:
    """Whether every record has its position in the sealed log."""
    items = admin.expect(200, "GET", "/audit?limit=200").json["items"]
    return all(one["index"] is not None for one in items)


def test_the_next_release_answers_what_this_one_was_recorded_to(
    database_url: str, issuer: TestIssuer, tmp_path: Path
) -> None:
    with Deployment(tmp_path / "deployment", database_url, issuer) as deployment:
        following = NextRelease(tmp_path / "source", EXPANDS)
        process = following.process(deployment, **SETTINGS, AUDIT_SEAL_SECONDS="1")
        process.start()
        assert refusal(process.client(issuer.sign(ADMIN))) == (500, "SERVER_MISCONFIGURED")
        migrate(following, database_url)
        clients = {
            name: OverTheWire(process.client(issuer.sign(subject))) for name, subject in CALLERS.items()
        }
        clients["nobody"] = OverTheWire(process.client())
        kept: dict[str, str] = {}
        problems = []
        for exchange in recorded_requests.load():
            assert not exchange.get("sealed") or eventually(lambda: is_sealed(clients["admin"].client))
            found = recorded_requests.ask(clients[exchange.get("as", "admin")], exchange, kept)  # type: ignore[arg-type]  # as much of it as is asked
            problems += [
                f"{exchange['method']} {exchange['path']}{problem}"
                for problem in recorded_requests.breaks(
                    recorded_requests.fill(exchange["answer"], kept), found
                )
            ]
        for client in clients.values():
            client.client.close()
        # The one difference that there must be, or it was not the next release that answered.
        assert problems == [f"GET /health.body.version: '{VERSION}', '{release.VERSION}' recorded"]


def test_on_postgresql_too_a_migration_that_takes_something_away_says_so(
    here: Path, postgresql_databases: PostgresqlDatabases
) -> None:
    url = postgresql_databases.create_empty()
    engine = make_engine(url)
    with engine.connect() as connection:
        assert wrongly_named(connection, ScriptDirectory.from_config(Config(here / "production.ini"))) == {}
    engine.dispose()
    postgresql_databases.drop(url)
