"""What else may go wrong: the processes, the disk, the clock, the source of keys."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress
from functools import partial
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from faults.clock import FILE
from faults.fault import CUT, EXPECTED, Fault, Scene
from jwks_server import KeyServer
from processes import Answer, HttpClient, free_port

KILLS = 6


def _two(scene: Scene) -> None:
    scene.deployment.add({"OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"})


def _killed(scene: Scene) -> None:
    generator = random.Random(1)  # noqa: S311 - moments, not secrets
    with scene.cause():
        for number in range(KILLS):
            time.sleep(generator.uniform(0.1, 0.8))
            victim = scene.deployment.processes[number % 2]
            victim.kill()
            victim.start()


#: Of so many answers to a write a proxy loses one.
LOST_ONE_IN = 5


class RetryingClient(HttpClient):
    """As behind a proxy that sends a write again whose answer it did not get, under the client's key.

    Every few answers it loses on its way; `replayed` counts those that the service gave once more.
    """

    def __init__(self, port: int, token: str, replayed: list[str], *, keyed: bool) -> None:
        super().__init__(port, token)
        self._replayed, self._keyed = replayed, keyed
        self._random = random.Random(port)  # noqa: S311 - which answers are lost

    def request(
        self,
        method: str,
        path: str,
        json_body: Any = None,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        if method == "GET":
            return super().request(method, path, json_body, body=body, headers=headers)
        sent = dict(headers or {})
        if self._keyed:
            sent["Idempotency-Key"] = sent.get("X-Request-Id", "none")
        deadline = time.monotonic() + 60
        while True:
            try:
                found = super().request(method, path, json_body, body=body, headers=sent)
                if "idempotency-replayed" in found.headers:
                    self._replayed.append(sent["Idempotency-Key"])
                is_lost = found.status == 200 and self._random.randrange(LOST_ONE_IN) == 0
                if time.monotonic() > deadline or not (is_lost or found.status in (500, 503)):
                    return found
            except (OSError, HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)


def _retrying(scene: Scene, *, keyed: bool = True) -> None:
    _two(scene)
    deployment = scene.deployment
    sign = deployment.issuer.sign

    def client(index: int = 0, token: str | None = None) -> HttpClient:
        port = deployment.processes[index].port
        return RetryingClient(port, token or sign("root@example.com"), scene.replayed, keyed=keyed)

    deployment.client = client  # type: ignore[method-assign]  # for this scene


def _killed_and_retried(scene: Scene) -> None:
    _killed(scene)
    if not scene.replayed:
        scene.problems.append("no write that was sent again had been done before")


def _sqlite_locked(scene: Scene) -> None:
    with closing(sqlite3.connect(_path(scene), isolation_level=None)) as other, scene.cause():
        other.execute("PRAGMA busy_timeout = 20000")
        other.execute("BEGIN IMMEDIATE")
        scene.wait()
        other.execute("ROLLBACK")


def _path(scene: Scene) -> Path:
    return Path(scene.deployment.url.removeprefix("sqlite:///"))


def _disk_full(scene: Scene) -> None:
    filler = scene.folder / "filler"
    with scene.cause():
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"\0" * 4096):
                pass
        scene.read_names()
        scene.wait()
        scene.read_names()
        filler.unlink()
        if scene.server is not None and not scene.server.is_running():
            # It ends itself where its log cannot be written.
            scene.server.stop(signal.SIGQUIT)
            scene.server.start()


def _by_http(scene: Scene) -> None:
    source = scene.stack.enter_context(KeyServer(scene.deployment.issuer.jwks()))
    scene.source = source
    kept = scene.deployment.directory / "keys.json"
    scene.deployment.settings |= {"ACCESS_JWKS_URL": source.url, "ACCESS_JWKS_CACHE": str(kept)}


def _source_hangs(scene: Scene) -> None:
    over, good = threading.Event(), scene.source.answer

    def hang(_handler: BaseHTTPRequestHandler) -> None:
        over.wait(60)

    with scene.cause():
        scene.source.answer = hang
        time.sleep(scene.seconds / 2)
        # Whoever starts now has never seen a key, but for those that were kept.
        scene.deployment.processes[0].stop()
        scene.deployment.processes[0].start()
        time.sleep(scene.seconds / 2)
        scene.source.answer = good
        over.set()


def _with_clock(scene: Scene) -> None:
    path = scene.deployment.directory / "clock"
    path.write_text("0")
    scene.deployment.settings[FILE] = str(path)


def _clock_jumps(scene: Scene) -> None:
    path = Path(scene.deployment.settings[FILE])
    with scene.cause():
        for seconds in (20, -20, 7_200, -7_200, 0):
            made = path.with_suffix(".new")
            made.write_text(json.dumps(seconds))
            made.replace(path)
            time.sleep(scene.seconds / 5)


def _is_root() -> str:
    return "" if os.geteuid() == 0 else "to mount a small file system takes root"


AROUND = (
    Fault(
        "processes killed, PostgreSQL",
        f"`kill -9` of one of two, {KILLS} times",
        _killed,
        prepare=_two,
        statuses=EXPECTED | CUT,
        met=CUT,
    ),
    Fault(
        "processes killed, SQLite",
        f"`kill -9` of one of two, {KILLS} times",
        _killed,
        engine="sqlite",
        prepare=_two,
        statuses=EXPECTED | CUT,
        met=CUT,
    ),
    Fault(
        "processes killed, a proxy retries",
        f"the same, one answer in {LOST_ONE_IN} is lost, and the write sent again with its `Idempotency-Key`",
        _killed_and_retried,
        prepare=_retrying,
        statuses=EXPECTED | CUT,
        met=frozenset({200}),
        slowest=60,
        all_answered=True,
    ),
    Fault(
        "a proxy retries, without keys: the proof that a write done twice is seen",
        f"one answer in {LOST_ONE_IN} is lost, and the write sent again",
        _killed,
        prepare=partial(_retrying, keyed=False),
        statuses=EXPECTED | CUT,
        met=frozenset({200}),
        slowest=60,
        breaks="I1",
    ),
    Fault(
        "SQLite locked",
        "`BEGIN IMMEDIATE` elsewhere",
        _sqlite_locked,
        engine="sqlite",
        seconds=40,
        slowest=45,
    ),
    Fault(
        "SQLite, disk full",
        "its file system is filled, then freed; names are read meanwhile",
        _disk_full,
        engine="sqlite",
        seconds=5,
        bytes=32 << 20,
        settings={"LAST_SEEN_RESOLUTION": "1"},
        needs=_is_root,
    ),
    Fault(
        "PostgreSQL, disk full",
        "its file system is filled, then freed; names are read meanwhile",
        _disk_full,
        seconds=8,
        bytes=192 << 20,
        settings={"LAST_SEEN_RESOLUTION": "1"},
        needs=_is_root,
    ),
    Fault(
        "key source hangs",
        "it takes requests and answers none, and the process is restarted meanwhile",
        _source_hangs,
        prepare=_by_http,
        statuses=EXPECTED | CUT,
        met=frozenset({200}),
    ),
    Fault(
        "clock jumps",
        "by 20 s and by 2 h, ahead and back, in the running process",
        _clock_jumps,
        prepare=_with_clock,
        statuses=EXPECTED | {401},
        met=frozenset({401}),
        ini="pyramid.includes = faults.clock",
    ),
)
