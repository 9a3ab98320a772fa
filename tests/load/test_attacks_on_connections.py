"""Attacks on the server itself, each for some seconds: everybody else is served in time all along."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from attackers import Attackers
from databases import SqliteDatabases
from extent import amount
from load.workload import ENVIRONMENT, arrange
from process_memory import resident_kib
from processes import Deployment, ServiceProcess
from service import API, HEADER
from tokens import TestIssuer
from waiting import PATIENCE, slowness

#: Half as long again as a connection's deadlines, so that those who were dropped come back.
SECONDS = amount(15.0, 300.0)
#: Seconds; a pause of the machine makes some probes take longer, and no attack may make a tenth.
IN_TIME = 2.0
#: What a process may hold of its own, in KiB.
MEMORY_KIB = 300 * 1024
CALM_SECONDS = 60.0
PROBES = 15
#: A proxy's connections to the process, and how long they are idle between two requests.
KEPT, IDLE_SECONDS = 48, 0.5
KEY = f"{ENVIRONMENT}/secrets/KEY"
DESCRIPTION = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /api/v1/projects HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


@pytest.fixture
def deployment(sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """One process; what is attacked lies before the database."""
    with Deployment(tmp_path, sqlite_databases.create(), issuer) as made:
        arrange(made.start(1))
        client = made.client()
        client.expect(200, "POST", f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": {"KEY": "value"}})
        client.close()
        yield made


def seconds_for(deployment: Deployment) -> tuple[float, float]:
    """How long a newcomer waits for `/health`, and a caller for a secret, each on its own connection."""
    found = []
    for path, expected in (("/health", b'"ok"'), (KEY, b'"value"')):
        client = deployment.client()
        began = time.monotonic()
        answer = client.expect(200, "GET", path)
        found.append(time.monotonic() - began)
        assert expected in answer.body
        client.close()
    return found[0], found[1]


def usual_seconds(deployment: Deployment) -> float:
    return statistics.median(sum(seconds_for(deployment)) for _ in range(PROBES))


@contextmanager
def calm_afterwards(deployment: Deployment, seconds: float = CALM_SECONDS) -> Iterator[None]:
    """Whatever happened inside, after it answers are as quick as before, but for what else runs here."""
    before = usual_seconds(deployment)
    yield
    deadline = time.monotonic() + seconds
    while (after := usual_seconds(deployment)) > 3 * before + 0.05:
        assert time.monotonic() < deadline, (before, after)


def probe(deployment: Deployment, attackers: Attackers) -> None:
    """For some seconds, and until all attack, everybody is served in time, and the process does not grow."""
    process: ServiceProcess = deployment.processes[0]
    waited, largest = [], 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or (attackers.made < attackers.count and time.monotonic() < end + PATIENCE):
        waited += seconds_for(deployment)
        largest = max(largest, resident_kib(process.pid))
        time.sleep(0.1)
    usual = statistics.quantiles(waited, n=10)[-1]
    print(f"{len(waited)} probes, nine tenths within {usual:.3f} s of {max(waited):.3f} s")
    print(f"{attackers.made} connections, {attackers.sent / 2**20:.0f} MiB; {largest / 2**10:.0f} MiB held")
    assert usual < IN_TIME * slowness()
    assert largest < MEMORY_KIB
    assert len(waited) > SECONDS / 2
    assert attackers.made >= attackers.count


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "options"),
    [
        pytest.param(8, {"first": DESCRIPTION * 221}, id="answers that are never read"),
        pytest.param(8, {"first": DESCRIPTION * 200_000}, id="requests without end and answers not read"),
        pytest.param(1_100, {"first": b"GET / HTTP/1.1\r\nA: ", "drip": b"a", "pause": 1.0}, id="dripping"),
        pytest.param(1_100, {}, id="silent"),
        pytest.param(
            60, {"first": POST + b"Content-Length: 16000000\r\n\r\n" + b"x" * 15_999_999}, id="16 MB"
        ),
        pytest.param(
            1_100, {"first": POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 999_999}, id="1 MB of 1,100"
        ),
    ],
)
def test_everybody_else_is_served_while_connections_are_abused(deployment, count, options):
    with (
        calm_afterwards(deployment),
        Attackers(deployment.processes[0].port, count, **options) as attackers,
    ):
        probe(deployment, attackers)


def ask_health(connection: HTTPConnection) -> None:
    connection.request("GET", f"{API}/health")
    assert b'"ok"' in connection.getresponse().read()


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nA: "], ids=["silent", "unfinished"])
def test_idle_connections_of_a_proxy_survive_a_flood_of_connections_without_requests(deployment, first):
    port = deployment.processes[0].port
    used, end = 0, time.monotonic() + SECONDS
    with ExitStack() as stack:
        idle = [
            stack.enter_context(closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)))
            for _ in range(KEPT)
        ]
        for connection in idle:
            ask_health(connection)
            # http.client would open it again, and say nothing.
            connection.auto_open = 0
        attackers = stack.enter_context(Attackers(port, 1_100, first=first))
        while time.monotonic() < end or attackers.made < 3 * attackers.count:
            assert time.monotonic() < end + PATIENCE
            time.sleep(IDLE_SECONDS)
            for connection in idle:
                ask_health(connection)
                used += 1
        print(f"{used} uses of {KEPT} idle connections, {attackers.made} connections beside them")


@pytest.mark.long
def test_everybody_else_is_served_while_bodies_of_tiny_chunks_are_parsed(deployment):
    body = POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200_000
    # What the kernels still hold of 240 MB when the clients have gone is parsed at the same rate.
    with (
        calm_afterwards(deployment, 5 * CALM_SECONDS),
        Attackers(deployment.processes[0].port, 200, first=body) as attackers,
    ):
        probe(deployment, attackers)


@pytest.mark.long
def test_everybody_else_is_served_while_exports_are_not_read(deployment, issuer):
    client = deployment.client()
    for first in range(0, 480, 10):
        batch = {f"BIG_{first + number:03}": "x" * 65_536 for number in range(10)}
        client.expect(200, "POST", f"{ENVIRONMENT}/secrets:batch", {"mode": "merge", "set": batch})
    client.close()
    token = deployment.client().token
    head = f"GET {API}{ENVIRONMENT}/secrets:export HTTP/1.1\r\nHost: h\r\n{HEADER}: {token}\r\n\r\n"
    with (
        calm_afterwards(deployment),
        Attackers(deployment.processes[0].port, 40, first=head.encode()) as attackers,
    ):
        probe(deployment, attackers)


def test_both_files_that_we_ship_have_the_same_server(here):
    found = []
    for name in ("production.ini", "development.ini"):
        text = (here / name).read_text()
        found.append(text[text.index("[server:main]") : text.index("[DEFAULT]")])
    assert found[0] == found[1]
    assert "egg:secretsvc#server" in found[0]
