"""A rotation of the master key while clients write and processes are killed."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from envelopes import Context, opened
from extent import amount, chance
from history import violations
from load.workload import Broken, Workload
from processes import Deployment
from rotation import NEW_KEY, NEXT_KEY, Operator
from service import MASTER_KEY, Client, Service
from sqlalchemy import select, text

from secretsvc.kernel.crypto import KeyRing
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment

pytestmark = pytest.mark.long

KILLS = amount(4, 100)
ENVELOPES = 2000
FIRST, SECOND, THIRD = MASTER_KEY, NEW_KEY, NEXT_KEY
RING = {"MASTER_KEY": THIRD, "MASTER_KEY_OLD": SECOND}
RINGS = {ring.active_kid: ring for ring in (KeyRing(b64decode(key), None) for key in (FIRST, SECOND, THIRD))}
KIDS = tuple(RINGS)
QUIET = tuple(f"quiet-{number}" for number in range(4))
PAUSE = 0.05


class Staged:
    """The database before the drill: 2,000 envelopes under three keys, and tombstones between them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._fill(service.user(), FIRST)
        for ring in ((SECOND, FIRST), (THIRD, SECOND)):
            now = service.restarted(MASTER_KEY=ring[0], MASTER_KEY_OLD=ring[1])
            self._fill(now.user(), ring[0])
        self.before = self.state()
        self.requests = {row["request_id"] for row in service.audit()}

    def _fill(self, admin: Client, ring: str) -> None:
        """Under the first key two versions of some, under the second most, under the third few."""
        if ring == FIRST:
            for project, names in (("still", QUIET), ("shop", ("prod",))):
                admin.post("/projects", {"slug": project, "name": project}, 201)
                for name in names:
                    admin.post(f"/projects/{project}/environments", {"slug": name, "name": name}, 201)
        # Of each environment 125 keys: 50 of 500 envelopes under the first key, 350 and 100 under the others.
        keys = {FIRST: [range(50)], SECOND: [range(125), range(100), range(125)], THIRD: [range(100)]}[ring]
        for name in QUIET:
            path = f"/projects/still/environments/{name}/secrets:batch"
            for turn, numbers in enumerate(keys):
                values = {f"K{number:03}": f"{name} {number} {turn} {ring[:4]}" for number in numbers}
                described = dict.fromkeys(list(values)[:3], "described")
                admin.post(path, {"mode": "merge", "set": values, "descriptions": described})
            gone = {FIRST: ["K049"], SECOND: ["K048", "K124"], THIRD: ["K000", "K001"]}[ring]
            admin.post(path, {"mode": "merge", "delete": gone})

    def count(self, condition: str = "kid IS NOT NULL") -> int:
        """Envelopes, counted by a statement that is none of the service's."""
        with self.service.engine.connect() as connection:
            statement = f"SELECT count(*) FROM secret_version WHERE {condition}"  # noqa: S608
            return connection.execute(text(statement)).scalar_one()

    def others(self) -> int:
        return self.count(f"kid <> '{KIDS[2]}'")

    def state(self) -> dict[str, Any]:
        """All that a rotation leaves alone; envelopes are opened by rings of the test's own."""
        mine = secret.c.environment_id.in_(
            select(environment.c.id).where(environment.c.slug.in_(QUIET)).scalar_subquery()
        )
        secrets = {row["id"]: row for row in self.service.rows(secret, mine)}
        versions = {}
        for row in self.service.rows(secret_version, secret_version.c.secret_id.in_(secrets)):
            kept = {name: value for name, value in row.items() if name not in ("envelope", "kid")}
            own = secrets[row["secret_id"]]
            context = Context(own["environment_id"], own["key"], row["version"])
            plain = row["kid"] and opened(RINGS[row["kid"]], row["envelope"], row["kid"], context)
            versions[row["secret_id"], row["version"]] = kept, plain
        environments = self.service.rows(environment, environment.c.slug.in_(QUIET))
        return {"secrets": secrets, "versions": versions, "environments": environments}


def seen(deployment: Deployment) -> dict[str, Any]:
    """The quiet environments as clients see them, but for the kids."""
    client = deployment.client()
    found: dict[str, Any] = {}
    for name in QUIET:
        base = f"/projects/still/environments/{name}"
        listed = client.expect(200, "GET", f"{base}/secrets")
        items = [item | {"kid": None} for item in listed.json["items"]]
        exported = client.expect(200, "GET", f"{base}/secrets:export")
        found[name] = items, listed.headers["etag"], exported.json, exported.headers["etag"]
    client.close()
    return found


class Rekeying:
    """A loop over the API of one process, which keeps to what is due before the next kill."""

    def __init__(self, drill: Drill, number: int) -> None:
        self.drill, self.number = drill, number
        self.lost = 0
        self.statuses: Counter[int] = Counter()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        client = self.drill.deployment.client(self.number)
        generator = random.Random(self.number)  # noqa: S311
        while not self.drill.over:
            try:
                client.connect()
            except OSError:
                time.sleep(0.02)
                continue
            limit = generator.randint(1, 4) if self.drill.kills_left else 50
            try:
                answer = client.request("POST", "/admin/rekey", {"limit": limit})
            except Broken:
                self.lost += 1
                continue
            self.statuses[answer.status] += 1
            if answer.status != 200 or answer.json["remaining"] == 0:
                break
            while self.drill.ahead(answer.json["remaining"]):
                time.sleep(0.005)
        client.close()


class Drill:
    """Two loops, a load, and kills spread over the whole of the move."""

    def __init__(self, deployment: Deployment, staged: Staged) -> None:
        self.deployment, self.staged = deployment, staged
        self.total, self.kills_left, self.over = staged.others(), KILLS, False
        self.loops = [Rekeying(self, number) for number in range(2)]

    def ahead(self, remaining: int) -> bool:
        return remaining < self.total * self.kills_left / (KILLS + 1)

    def run(self, generator: random.Random) -> None:
        for loop in self.loops:
            loop.thread.start()
        try:
            while self.kills_left:
                time.sleep(generator.uniform(0.02, 0.4))
                victim = generator.choice(self.deployment.processes)
                victim.kill()
                victim.start()
                self.kills_left -= 1
                self.judge_report()
        except BaseException:
            self.over = True
            raise
        finally:
            self.kills_left = 0
            for loop in self.loops:
                loop.thread.join()

    def judge_report(self) -> None:
        """What the report says lies between a count before it and one after it."""
        client = self.deployment.client(self.kills_left % 2)
        most = self.staged.others()
        report = client.expect(200, "GET", "/admin/keyring").json
        least = self.staged.others()
        client.close()
        named = sum(key["rows"] for key in report["keys"] if not key["active"])
        assert least <= named <= most
        assert report["safeToRemoveOldKey"] == (named == 0)


@pytest.fixture
def staged(service: Service) -> Staged:
    return Staged(service)


@pytest.fixture
def operator(tmp_path: Path, database_url: str) -> Operator:
    return Operator(tmp_path / "operator", database_url)


@pytest.fixture
def deployment(database_url: str, issuer: Any, tmp_path: Path) -> Iterator[Deployment]:
    with Deployment(tmp_path, database_url, issuer, **RING) as made:
        yield made.start(2)


def deal_with_the_first_key(staged: Staged, operator: Operator) -> None:
    """Rows under a key that the ring lacks stop the rekey; with that key in the old one's place they move."""
    assert [staged.count(f"kid = '{kid}'") for kid in KIDS] == [200, 1400, 400]
    assert staged.count("kid IS NULL") == 5 * len(QUIET)
    verified = operator.run("verify", "production.ini", **RING)
    assert verified.stdout.endswith(f"{ENVELOPES} envelopes, 200 unreadable.\n")
    stopped = operator.run("rekey", "production.ini", **RING)
    assert (stopped.returncode, KIDS[0] in stopped.stderr) == (1, True), stopped
    assert staged.others() == 1600
    # To the last of them, and no page may hold a row of the other key.
    moved = operator.run("rekey", "production.ini", "--page", "1", MASTER_KEY=THIRD, MASTER_KEY_OLD=FIRST)
    assert (moved.returncode, KIDS[1] in moved.stderr) == (1, True), moved
    assert [staged.count(f"kid = '{kid}'") for kid in KIDS] == [0, 1400, 600]


def moved_by_audit(staged: Staged) -> int:
    return sum(json.loads(row["detail"])["rekeyed"] for row in staged.service.audit("keyring.rekey"))


def alone(deployment: Deployment, staged: Staged, operator: Operator) -> None:
    """On the new key alone everything can be read: exports, each version of some keys, all by `verify`."""
    for process in deployment.processes:
        process.stop()
        del process.settings["MASTER_KEY_OLD"]
        process.start()
    client = deployment.client(1)
    for name in QUIET:
        base = f"/projects/still/environments/{name}"
        values = client.expect(200, "GET", f"{base}/secrets:export").json["secrets"]
        assert len(values) == 122
        for key in ("K000", "K010", "K048", "K049", "K110"):
            (owner,) = (row for row in staged.before["secrets"].values() if _is(staged, row, name, key))
            for version in range(1, owner["version"] + 1):
                _, plain = staged.before["versions"][owner["id"], version]
                body = {"key": key, "to_version": version}
                client.expect(404 if plain is None else 200, "POST", f"{base}/secrets:rollback", body)
                if plain is not None:
                    read = client.expect(200, "GET", f"{base}/secrets/{key}").json["value"]
                    assert read.encode() == plain
    client.close()
    verified = operator.run("verify", "production.ini", MASTER_KEY=THIRD)
    assert (verified.returncode, ", 0 unreadable.\n" in verified.stdout) == (0, True), verified


def _is(staged: Staged, row: Any, name: str, key: str) -> bool:
    slugs = {one["id"]: one["slug"] for one in staged.before["environments"]}
    return (slugs[row["environment_id"]], row["key"]) == (name, key)


def test_a_rotation_ends_complete_whatever_is_killed_meanwhile(staged, deployment, operator):
    deal_with_the_first_key(staged, operator)
    before = seen(deployment)
    drill = Drill(deployment, staged)
    drill.judge_report()
    with Workload(deployment, PAUSE) as load:
        drill.run(chance())
    drill.judge_report()
    lost, statuses = [loop.lost for loop in drill.loops], [dict(loop.statuses) for loop in drill.loops]
    print(f"\n{KILLS} kills, rekeying {statuses}, lost {lost}, load {Counter(load.statuses)}")
    assert [set(one) for one in statuses] == [{200}, {200}]
    assert {*load.statuses} <= {0, 200, 409, 412}
    assert staged.others() == 0
    assert moved_by_audit(staged) == 1600
    assert staged.state() == staged.before
    assert seen(deployment) == before
    history = load.history()
    ours = [one for one in history.audited if one.request_id not in staged.requests]
    assert violations(replace(history, audited=ours)) == []
    if deployment.url.startswith("sqlite"):
        with closing(sqlite3.connect(deployment.url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    alone(deployment, staged, operator)


def test_a_killed_script_is_taken_up_by_the_next(staged, operator):
    staged.service.execute(secret_version.delete().where(secret_version.c.kid == KIDS[0]))
    total = staged.others()
    process = operator.start("rekey", "production.ini", "--page", "1", **RING)
    try:
        while staged.others() > total - 20:
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    left = staged.others()
    assert 0 < left < total
    assert moved_by_audit(staged) == total - left
    done = operator.run("rekey", "production.ini", **RING)
    assert (done.returncode, staged.others()) == (0, 0), done
    assert moved_by_audit(staged) == total
