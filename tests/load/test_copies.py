"""Two environments copied to each other by many clients at once: no deadlock, and nothing is lost."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from typing import Any

import pytest
from copy_checker import Done, Exported, Past, Recorded, Seen, violations
from load.workload import SECONDS
from processes import Answer, Deployment, HttpClient
from sqlalchemy import select

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import make_engine, read_once

NAMES = ("prod", "dev")
KEYS = tuple(f"KEY_{number:02}" for number in range(12))
CLIENTS = 16
# Well below the time after which PostgreSQL gives a lock up, and far below that of the client.
SLOWEST = 10.0


def path_of(name: str) -> str:
    return f"/projects/shop/environments/{name}"


class Copiers:
    """Clients that copy both ways, and now and then write or export; each remembers what it was told."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.done: list[Done] = []
        self.seen: list[Seen] = []
        self.statuses: Counter[int] = Counter()
        self._numbers = itertools.count()
        self._over = threading.Event()
        self._errors: list[BaseException] = []

    def run(self, seconds: float) -> None:
        threads = [threading.Thread(target=self._guarded, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self._over.set()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _guarded(self, number: int) -> None:
        generator = random.Random(number)  # noqa: S311 - a workload, not a secret
        client = self.deployment.client(number % len(self.deployment.processes))
        try:
            while not self._over.is_set():
                chance = generator.random()
                if chance < 0.1:
                    self._export(client, generator.choice(NAMES))
                elif chance < 0.4:
                    self._batch(client, generator)
                else:
                    self._copy(client, generator)
        except BaseException as error:
            self._errors.append(error)
        finally:
            client.close()

    def _batch(self, client: HttpClient, generator: random.Random) -> None:
        request_id, name = f"op-{next(self._numbers)}", generator.choice(NAMES)
        values = {key: f"{key} {request_id}" for key in generator.sample(KEYS, generator.randint(1, 4))}
        self._write(
            client, "batch", {"mode": "merge", "set": values}, Done(request_id, name, 0, 0, values=values)
        )

    def _copy(self, client: HttpClient, generator: random.Random) -> None:
        source, target = generator.sample(NAMES, 2)
        body: dict[str, Any] = {"from": {"project": "shop", "environment": source}}
        body["mode"] = "replace" if generator.random() < 0.3 else "merge"
        self._write(client, "copy", body, Done(f"op-{next(self._numbers)}", target, 0, 0, mode=body["mode"]))

    def _write(self, client: HttpClient, verb: str, body: Any, done: Done) -> None:
        began = time.monotonic()
        answer = client.request(
            "POST",
            f"{path_of(done.environment)}/secrets:{verb}",
            body,
            headers={"X-Request-Id": done.request_id},
        )
        ended = time.monotonic()
        self.statuses[answer.status] += 1
        rev = answer.json["rev"] if answer.status == 200 and answer.json["changes"] else None
        self.done.append(
            Done(done.request_id, done.environment, began, ended, rev, done.values, done.mode, done.keys)
        )

    def _export(self, client: HttpClient, name: str) -> None:
        answer = client.request("GET", f"{path_of(name)}/secrets:export")
        self.statuses[answer.status] += 1
        if answer.status == 200:
            self.seen.append(_seen(name, answer))


def _seen(name: str, answer: Answer) -> Seen:
    return Seen(name, answer.json["rev"], answer.json["secrets"])


def past_of(deployment: Deployment, copiers: Copiers) -> Past:
    """What the clients were told, beside what is recorded and there once all is quiet."""
    client = deployment.client()
    environments = {name: client.expect(200, "GET", path_of(name)).json for name in NAMES}
    last = [_seen(name, client.expect(200, "GET", f"{path_of(name)}/secrets:export")) for name in NAMES]
    client.close()
    slugs = {one["id"]: name for name, one in environments.items()}
    recorded, exported = [], []
    for row in _rows(deployment.url):
        detail, name = json.loads(row.detail), slugs[str(row.environment_id)]
        if row.action == "secret.export":
            if "copied_to" in detail:
                exported.append(Exported(row.request_id, name, detail["rev"], tuple(detail["keys"])))
            continue
        changes = {one["key"]: one["kind"] for one in detail["changes"]}
        origin = detail.get("from")
        source = slugs[origin["environment_id"]] if origin else None
        taken = origin["rev"] if origin else 0
        recorded.append(Recorded(row.request_id, name, detail["rev"], changes, source, taken))
    revs = {name: one["rev"] for name, one in environments.items()}
    return Past(copiers.done, recorded, exported, [*copiers.seen, *last], revs)


def _rows(url: str) -> list[Any]:
    columns = audit_record.c
    statement = select(columns.action, columns.request_id, columns.environment_id, columns.detail).where(
        columns.action.in_(("secret.batch", "secret.copy", "secret.export")), columns.outcome == "success"
    )
    engine = make_engine(url)
    try:
        with read_once(engine) as connection:
            return list(connection.execute(statement))
    finally:
        engine.dispose()


@pytest.mark.long
def test_copies_both_ways_never_deadlock_and_never_lose(deployment: Deployment) -> None:
    client = deployment.client()
    client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    for name in NAMES:
        client.expect(201, "POST", "/projects/shop/environments", {"slug": name, "name": name})
    client.close()
    copiers = Copiers(deployment)
    copiers.run(SECONDS)
    slowest = max(one.ended - one.began for one in copiers.done)
    print(f"\n{len(copiers.done)} writes, {dict(copiers.statuses)}, slowest {slowest:.2f} s")
    assert {*copiers.statuses} == {200}, copiers.statuses
    assert slowest < SLOWEST
    past = past_of(deployment, copiers)
    assert sum(one.source is not None for one in past.recorded) >= CLIENTS
    assert violations(past) == []
