"""PgBouncer in transaction mode between the service and PostgreSQL: nobody notices it."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pgbouncer
import psycopg
import pytest
from databases import migrate
from history import violations
from load.workload import ENVIRONMENT, Workload, arrange
from postgresql_server import own_server
from processes import Deployment
from rotation import Operator
from service import MASTER_KEY
from tokens import TestIssuer

from secretsvc.db.schema import REVISION

pytestmark = pytest.mark.skipif(
    not pgbouncer.is_there(), reason="pgbouncer is not on this machine: Debian's package of that name has it"
)
OPERATIONS, CLIENTS = 2_000, 8
SECONDS = 300.0


@pytest.fixture(scope="module")
def server():
    with own_server() as made:
        yield made


@pytest.fixture
def pooled_url(server):
    """An empty database behind it."""
    server.execute("CREATE DATABASE secretsvc", "postgres")
    with pgbouncer.pgbouncer(server.url()) as url:
        yield url
    server.execute("DROP DATABASE secretsvc WITH (FORCE)", "postgres")


def test_two_thousand_operations_of_every_kind_meet_no_5xx(
    pooled_url: str, issuer: TestIssuer, tmp_path: Path
) -> None:
    migrate(pooled_url)
    with Deployment(tmp_path, pooled_url, issuer) as deployment:
        deployment.start(2)
        arrange(deployment)
        with ThreadPoolExecutor(CLIENTS) as pool:
            seen = sum(pool.map(lambda number: operate(deployment, number), range(CLIENTS)), Counter())
        print(f"\n{dict(seen)}")
        assert seen.total() >= OPERATIONS
        assert {*seen} <= {200, 201, 204, 304, 412}, seen


def operate(deployment: Deployment, number: int) -> Counter[int]:
    """One client's share: writes, reads of values and names, grants, audit, in turns."""
    client = deployment.client(number % 2)
    seen: Counter[int] = Counter()
    key = f"KEY_{number}"
    secret = f"{ENVIRONMENT}/secrets/{key}"
    group = {"slug": f"group-{number}", "name": "Group"}
    made = client.expect(201, "POST", "/groups", group).json["id"]
    while seen.total() < OPERATIONS / CLIENTS:
        many = {f"{key}_{index}": str(seen.total()) for index in range(20)}
        for method, path, body in (
            ("POST", f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": {key: "one"}}),
            ("POST", f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": many}),
            ("GET", secret, None),
            ("GET", f"{ENVIRONMENT}/secrets", None),
            ("GET", f"{ENVIRONMENT}/secrets:export", None),
            ("GET", f"{secret}/versions", None),
            ("POST", f"{ENVIRONMENT}/secrets:rollback", {"key": key, "to_version": 1}),
            ("GET", f"{ENVIRONMENT}/secrets:compare?with_rev=1", None),
            ("GET", "/audit?limit=20", None),
            ("GET", "/search?q=key", None),
            ("GET", "/admin/keyring", None),
            ("PATCH", f"/groups/{made}", {"name": str(seen.total())}),
        ):
            answer = client.request(method, path, body)
            seen[answer.status] += 1
            assert answer.status < 400 or answer.status == 412, (method, path, answer.body)
    client.close()
    return seen


def test_no_acknowledged_write_is_lost_behind_it(pooled_url: str, issuer: TestIssuer, tmp_path: Path) -> None:
    migrate(pooled_url)
    with Deployment(tmp_path, pooled_url, issuer) as deployment:
        deployment.start(2)
        arrange(deployment)
        with Workload(deployment) as load:
            time.sleep(4.0)
        assert {*load.statuses} <= {200, 409, 412}, Counter(load.statuses)
        assert violations(load.history()) == []


def test_five_migrations_at_once_through_it_are_five_successes(pooled_url: str, tmp_path: Path) -> None:
    operator = Operator(tmp_path, pooled_url)
    started = [operator.start("migrate", "production.ini", MASTER_KEY=MASTER_KEY) for _ in range(5)]
    outputs = [process.communicate(timeout=SECONDS) for process in started]
    assert [process.returncode for process in started] == [0] * 5, outputs
    assert {out for out, _ in outputs} == {f"The schema is at {REVISION}.\n"}


def test_a_migration_leaves_no_limits_of_its_own_to_those_who_come_after_it(pooled_url: str) -> None:
    migrate(pooled_url)
    plain = pooled_url.replace("postgresql+psycopg://", "postgresql://")
    for _ in range(2 * pgbouncer.POOL):
        with psycopg.connect(plain, autocommit=True, prepare_threshold=None) as connection:
            found = connection.execute("SHOW lock_timeout").fetchone()
        assert found != ("1min",)
