"""A database that is down: the log stays small, and still tells of each failed request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from extent import amount
from processes import Deployment, free_port
from tokens import TestIssuer
from waiting import eventually

CLIENTS = 8
SECONDS = amount(20.0, 1_200.0)
#: What a client rests between two requests; without, the number of lines would be the machine's speed.
PAUSE = 0.1
#: Bytes of log.
BOUND = 50_000 * SECONDS
LINE = 500


@pytest.fixture
def deployment(issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """A process whose PostgreSQL is not there: at its address nobody listens."""
    url = f"postgresql://secretsvc:hunter2@127.0.0.1:{free_port()}/secretsvc"
    with Deployment(tmp_path, url, issuer) as made:
        yield made.start(1)


@pytest.mark.long
def test_a_database_that_is_down_leaves_one_line_a_request(deployment: Deployment) -> None:
    ends = time.monotonic() + SECONDS
    asked: list[str] = []

    def ask(number: int) -> None:
        client = deployment.client()
        count = 0
        while time.monotonic() < ends:
            name = f"client-{number}-{count}"
            answer = client.request("GET", "/projects", headers={"X-Request-Id": name})
            assert answer.status >= 500
            asked.append(name)
            count += 1
            time.sleep(PAUSE)
        client.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process = deployment.processes[0]
    # The last lines are written once their answers have left.
    assert eventually(lambda: all(f'"{name}"'.encode() in process.output for name in asked[-CLIENTS:]))
    output = process.output
    print(f"\n{len(asked)} requests, {len(output)} bytes of log, {output.count(b'Traceback')} tracebacks")
    assert len(asked) >= CLIENTS
    assert len(output) < BOUND
    lines = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
    failed = {line["request_id"]: line for line in lines if line.get("status", 0) >= 500}
    assert failed.keys() == {*asked}
    assert {line["cause"] for line in failed.values()} == {"OperationalError: connection refused"}
    assert len([line for line in lines if "traceback" in line]) <= 4
    assert len(output) < LINE * len(asked) + 20_000
    assert b"hunter2" not in output
