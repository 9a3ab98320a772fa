"""Concurrent writers and readers of one environment, and the history that they saw."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from extent import amount
from history import OK, REFUSED, UNKNOWN, Audited, Export, Final, History, Write
from processes import Answer, Deployment, HttpClient
from sqlalchemy import select

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import make_engine, read_once

ENVIRONMENT = "/projects/shop/environments/prod"
KEYS = tuple(f"KEY_{number:02}" for number in range(20))
SECONDS = amount(4.0, 600.0)
WRITERS, READERS = 16, 2
# Once that often a batch sets every key: an export after it must not show anything older.
WHOLE = 0.2
Broken = (OSError, http.client.HTTPException)


def arrange(deployment: Deployment) -> None:
    """The project and environment that the workload writes to."""
    client = deployment.client()
    client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    client.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
    client.close()


class Workload:
    """Runs writers and readers against all processes of a deployment, and remembers what they saw.

    A writer rests for `pause` seconds, more or less, after each write.
    """

    def __init__(
        self, deployment: Deployment, pause: float = 0.0, writers: int = WRITERS, readers: int = READERS
    ) -> None:
        self.deployment, self.pause = deployment, pause
        self.writes: list[Write] = []
        self.exports: list[Export] = []
        self.statuses: list[int] = []
        #: Each answer's status, 0 where none came, and when it began and ended.
        self.answers: list[tuple[int, float, float]] = []
        #: What those say of themselves that are 500.
        self.hints: list[str] = []
        self.slowest = 0.0
        self._numbers = itertools.count()
        self._rev = 0
        self._over = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(work, number))
            for work, count in ((self._write_on, writers), (self._read_on, readers))
            for number in range(count)
        ]

    def __enter__(self) -> Workload:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def history(self) -> History:
        return observed(self.deployment, self.writes, self.exports)

    def _guarded(self, work: Callable[[HttpClient, random.Random], None], number: int) -> None:
        generator = random.Random(number)  # noqa: S311 - a workload, not a secret
        client = self.deployment.client(number % len(self.deployment.processes))
        try:
            while not self._over.is_set():
                work(client, generator)
        except BaseException as error:
            self._errors.append(error)
        finally:
            client.close()

    def _write_on(self, client: HttpClient, generator: random.Random) -> None:
        if not _reached(client):
            return
        keys = KEYS if generator.random() < WHOLE else tuple(generator.sample(KEYS, generator.randint(1, 5)))
        expected = self._rev if generator.random() < 0.5 else None
        made = write(client, f"op-{next(self._numbers)}", keys, expected, self.hints)
        if made.rev is not None:
            self._rev = made.rev
        self.slowest = max(self.slowest, made.ended - made.began)
        self.statuses.append(made.status)
        self.writes.append(made)
        self.answers.append((made.status, made.began, made.ended))
        time.sleep(generator.random() * 2 * self.pause)

    def _read_on(self, client: HttpClient, generator: random.Random) -> None:
        if not _reached(client):
            return
        began = time.monotonic()
        try:
            answer = client.request("GET", f"{ENVIRONMENT}/secrets:export")
        except Broken:
            self.answers.append((0, began, time.monotonic()))
            return
        self.answers.append((answer.status, began, time.monotonic()))
        self.statuses.append(answer.status)
        if answer.status == 500:
            self.hints.append(answer.json.get("hint", ""))
        if answer.status == 200:
            self.exports.append(_export(answer, began))
        time.sleep(generator.random() * 0.02)


def write(
    client: HttpClient,
    request_id: str,
    keys: tuple[str, ...],
    expected: int | None,
    hints: list[str] | None = None,
) -> Write:
    """One batch that sets the keys to its own request id; adds the hint of a 500 to `hints`."""
    headers = {"X-Request-Id": request_id}
    if expected is not None:
        headers["If-Match"] = f'"{expected}"'
    body = {"mode": "merge", "set": dict.fromkeys(keys, request_id)}
    began = time.monotonic()
    try:
        answer = client.request("POST", f"{ENVIRONMENT}/secrets:batch", body, headers=headers)
    except Broken:
        return Write(request_id, keys, expected, UNKNOWN, began, time.monotonic())
    ended = time.monotonic()
    if answer.status == 500 and hints is not None:
        hints.append(answer.json.get("hint", ""))
    if answer.status != 200:
        # With a 503 COMMIT was not sent (contract 8.1).
        outcome = REFUSED if 400 <= answer.status < 500 or answer.status == 503 else UNKNOWN
        return Write(request_id, keys, expected, outcome, began, ended, answer.status)
    versions = {change["key"]: change["version"] for change in answer.json["changes"]}
    return Write(request_id, keys, expected, OK, began, ended, 200, answer.json["rev"], versions)


def observed(deployment: Deployment, writes: list[Write], exports: list[Export]) -> History:
    """The history of those writes and exports, and what is there once all is quiet."""
    client = deployment.client()
    rev = client.expect(200, "GET", ENVIRONMENT).json["rev"]
    began = time.monotonic()
    last = _export(client.expect(200, "GET", f"{ENVIRONMENT}/secrets:export"), began)
    listed = client.expect(200, "GET", f"{ENVIRONMENT}/secrets").json["items"]
    versions = {}
    for item in listed:
        path = f"{ENVIRONMENT}/secrets/{item['key']}/versions"
        found = client.expect(200, "GET", path).json["items"]
        versions[item["key"]] = tuple(one["version"] for one in reversed(found))
    client.close()
    unreadable = tuple(item["key"] for item in listed if not item["readable"])
    final = Final(rev, versions, unreadable)
    return History(list(writes), [*exports, last], audited(deployment.url), final)


def audited(url: str) -> list[Audited]:
    """The audit records of batches, read behind the service's back."""
    statement = select(audit_record.c.request_id, audit_record.c.detail)
    statement = statement.where(audit_record.c.action == "secret.batch", audit_record.c.outcome == "success")
    engine = make_engine(url)
    try:
        with read_once(engine) as connection:
            rows: list[Any] = list(connection.execute(statement))
    finally:
        engine.dispose()
    return [_audited(row.request_id, json.loads(row.detail)) for row in rows]


def _audited(request_id: str, detail: dict[str, Any]) -> Audited:
    versions = {change["key"]: change["version"] for change in detail["changes"]}
    return Audited(request_id, detail["rev"], versions)


def _export(answer: Answer, began: float) -> Export:
    etag = int(answer.headers["etag"].strip('"'))
    assert answer.json["rev"] == etag
    return Export(etag, answer.json["secrets"], began, time.monotonic())


def _reached(client: HttpClient) -> bool:
    """Whether there is a process at the other end; while it is down, nothing is sent."""
    try:
        client.connect()
    except OSError:
        time.sleep(0.02)
        return False
    return True
