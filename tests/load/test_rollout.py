"""The rollout of docs/operations/key-rotation.md, step by step, at two processes that are in use."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from load.workload import ENVIRONMENT, KEYS, arrange
from processes import START_SECONDS, Deployment, HttpClient, ServiceProcess
from rotation import NEW_KEY, Operator
from service import MASTER_KEY

OLD_ONLY = {"MASTER_KEY": MASTER_KEY, "MASTER_KEY_OLD": ""}
ANSWERS = 6
PAUSE = 0.2


class Seen(NamedTuple):
    """An answer that somebody got from a process."""

    process: int
    method: str
    path: str
    status: int
    code: str | None


class Traffic:
    """Writers and readers of each process; a process is taken out of their way before it is restarted."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.seen: list[Seen] = []
        self.short_lists = 0
        self._answers: Counter[tuple[int, str]] = Counter()
        self._errors: list[BaseException] = []
        self._over = threading.Event()
        self._in_use = {(number, work): threading.Lock() for number in (0, 1) for work in ("write", "read")}
        self._threads = [threading.Thread(target=self._guarded, args=one) for one in self._in_use]

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def restart(self, number: int, **settings: str) -> None:
        """As behind a balancer: out of use once the present requests end, restarted, in use for a while."""
        locks = [lock for (process, _), lock in self._in_use.items() if process == number]
        for lock in locks:
            lock.acquire()
        restart(self.deployment.processes[number], **settings)
        for lock in locks:
            lock.release()
        self.go_on()

    def go_on(self) -> None:
        """Waits until each of them was answered some more times."""
        before, deadline = Counter(self._answers), time.monotonic() + START_SECONDS
        while min(self._answers[one] - before[one] for one in self._in_use) < ANSWERS:
            assert time.monotonic() < deadline, self._errors
            time.sleep(0.02)

    def failures(self) -> Counter[tuple[int, str | None]]:
        """How often which process answered with which code since this was asked last."""
        seen, self.seen = self.seen, []
        assert {one.process for one in seen} == {0, 1}, "somebody was not asked"
        return Counter((one.process, one.code) for one in seen if one.status != 200)

    def _guarded(self, number: int, work: str) -> None:
        turn = 0
        try:
            while not self._over.is_set():
                with self._in_use[number, work]:
                    client = self.deployment.client(number)
                    for _ in range(5):
                        turn += 1
                        (self._write if work == "write" else self._read)(client, number, turn)
                        self._answers[number, work] += 1
                    client.close()
                time.sleep(PAUSE)
        except BaseException as error:
            self._errors.append(error)

    def _write(self, client: HttpClient, number: int, turn: int) -> None:
        key = KEYS[(2 * turn + number) % len(KEYS)]
        if turn % 3:
            self._ask(client, number, "POST", "/secrets:batch", {"mode": "merge", "set": {key: f"{turn}"}})
        else:
            self._ask(client, number, "POST", "/secrets:rollback", {"key": key, "to_version": 1})

    def _read(self, client: HttpClient, number: int, turn: int) -> None:
        path = ("/secrets", "/secrets:export", f"/secrets/{KEYS[turn % len(KEYS)]}")[turn % 3]
        answer = self._ask(client, number, "GET", path)
        if path == "/secrets" and tuple(item["key"] for item in answer["items"]) != KEYS:
            self.short_lists += 1

    def _ask(self, client: HttpClient, number: int, method: str, path: str, body: object = None) -> dict:
        answer = client.request(method, ENVIRONMENT + path, body)
        code = None if answer.status == 200 else answer.json["code"]
        self.seen.append(Seen(number, method, path, answer.status, code))
        return answer.json


def restart(process: ServiceProcess, **settings: str) -> None:
    process.stop()
    process.settings.update(settings)
    process.start()


def reports(deployment: Deployment) -> list[dict]:
    """`GET /admin/keyring` at each process."""
    found = []
    for number in range(len(deployment.processes)):
        client = deployment.client(number)
        found.append(client.expect(200, "GET", "/admin/keyring").json)
        client.close()
    return found


def unreadable(deployment: Deployment, number: int) -> set[str]:
    """What a process marks in its list, which holds every row."""
    client = deployment.client(number)
    items = client.expect(200, "GET", f"{ENVIRONMENT}/secrets").json["items"]
    client.close()
    assert tuple(item["key"] for item in items) == KEYS
    marked = {item["key"] for item in items if not item["readable"]}
    assert {item["error"] for item in items if item["key"] in marked} <= {"UNKNOWN_KID"}
    return marked


@pytest.fixture
def operator(tmp_path: Path, database_url: str) -> Operator:
    return Operator(tmp_path / "operator", database_url)


@pytest.fixture
def traffic(deployment: Deployment) -> Iterator[Traffic]:
    arrange(deployment)
    client = deployment.client()
    body = {"mode": "merge", "set": dict.fromkeys(KEYS, "the first")}
    client.expect(200, "POST", f"{ENVIRONMENT}/secrets:batch", body)
    client.close()
    for process in deployment.processes:
        process.settings.update(OLD_ONLY)
    with Traffic(deployment) as made:
        made.go_on()
        yield made
    assert made.short_lists == 0


def test_in_the_documented_order_no_request_fails_at_any_step(deployment, traffic, operator):
    # 1. Make the new key.
    new_key = operator.run("keygen").stdout.strip()
    checked = operator.run("verify", "production.ini", MASTER_KEY=MASTER_KEY)
    assert (checked.returncode, checked.stdout.endswith(", 0 unreadable.\n")) == (0, True), checked
    (old,) = {report["active_kid"] for report in reports(deployment)}
    # 2. Let every process open what the new key will seal.
    for number in (0, 1):
        traffic.restart(number, MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=new_key)
    for report in reports(deployment):
        assert report["active_kid"] == old
        assert [(key["held"], key["active"]) for key in report["keys"]] == [(True, True), (True, False)]
    (new,) = {key["kid"] for report in reports(deployment) for key in report["keys"]} - {old}
    assert traffic.failures() == {}
    # 3. Let every process seal under the new key.
    for number in (0, 1):
        traffic.restart(number, MASTER_KEY=new_key, MASTER_KEY_OLD=MASTER_KEY)
        rows = {key["kid"]: key["rows"] for key in reports(deployment)[0]["keys"]}
        assert set(rows) == {old, new}
        assert all(rows.values()), "both keys are written"
    assert [report["active_kid"] for report in reports(deployment)] == [new, new]
    assert [report["safeToRemoveOldKey"] for report in reports(deployment)] == [False, False]
    # 4. Move the rows.
    ring = {"MASTER_KEY": new_key, "MASTER_KEY_OLD": MASTER_KEY}
    moved = operator.run("rekey", "production.ini", "--page", "20", **ring)
    assert moved.returncode == 0, moved
    assert moved.stdout.endswith("Every envelope is under the active key.\n")
    # 5. Ask whether the old key may go.
    assert [report["safeToRemoveOldKey"] for report in reports(deployment)] == [True, True]
    # 6. Drop the old key.
    for number in (0, 1):
        traffic.restart(number, MASTER_KEY=new_key, MASTER_KEY_OLD="")
    checked = operator.run("verify", "production.ini", MASTER_KEY=new_key)
    assert (checked.returncode, checked.stdout.endswith(", 0 unreadable.\n")) == (0, True), checked
    assert traffic.failures() == {}


def test_a_swap_before_all_hold_the_new_key_fails_at_just_the_process_without_it_and_heals(
    deployment, traffic
):
    traffic.restart(0, MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)
    assert traffic.failures() == {}
    # Step 3, while step 2 is not done at the other.
    traffic.restart(0, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    traffic.go_on()
    assert unreadable(deployment, 1) != set()
    assert unreadable(deployment, 0) == set()
    assert [len(report["keys"]) for report in reports(deployment)] == [2, 2]
    assert [key["held"] for key in reports(deployment)[1]["keys"]] == [True, False]
    # The way back: finish step 2.
    traffic.restart(1, MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)
    assert set(traffic.failures()) == {(1, "UNKNOWN_KID")}
    traffic.go_on()
    assert traffic.failures() == {}
    assert [unreadable(deployment, number) for number in (0, 1)] == [set(), set()]


def test_a_key_that_is_dropped_too_early_is_put_back_and_nothing_is_lost(deployment, traffic, operator):
    for number in (0, 1):
        traffic.restart(number, MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)
    for number in (0, 1):
        traffic.restart(number, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert traffic.failures() == {}
    # Step 6, while step 5 says that it is not safe.
    assert reports(deployment)[0]["safeToRemoveOldKey"] is False
    traffic.restart(1, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD="")
    failed = operator.run("rekey", "production.ini", MASTER_KEY=NEW_KEY)
    assert (failed.returncode, "UNKNOWN_KID" in failed.stderr) == (1, True), failed
    # The way back: put it back, rekey.
    traffic.restart(1, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert set(traffic.failures()) == {(1, "UNKNOWN_KID")}
    done = operator.run("rekey", "production.ini", MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert done.returncode == 0, done
    traffic.restart(1, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD="")
    assert traffic.failures() == {}
    assert operator.run("verify", "production.ini", MASTER_KEY=NEW_KEY).returncode == 0
