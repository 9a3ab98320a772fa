"""Two processes behind the balancers whose files we ship are restarted in turn, and no client notices.

Slow: twenty times a process must end, which takes as long as a balancer keeps idle connections, and start. So
all balancers stand before the same two processes, each with a crowd of its own.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from databases import SqliteDatabases
from extent import amount
from load.slow_client import HEADER
from load.workload import ENVIRONMENT, Broken, arrange
from processes import Deployment, HttpClient, ServiceProcess, free_port
from programs import need
from tokens import TestIssuer
from waiting import PATIENCE, eventually

ROUNDS, CLIENTS = amount(10, 100), 12
# Less than the clients could, so that two cores are enough for the restarts too.
PAUSE = 0.1
STOP_SECONDS = 90.0


@pytest.fixture
def deployment(sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    settings = {"DRAIN_SECONDS": "30", "TRUSTED_PROXIES": "127.0.0.1"}
    with Deployment(tmp_path, sqlite_databases.create(), issuer, **settings) as made:
        arrange(made.start(2, ini="pyramid.includes = load.slow_client"))
        yield made


def configured(text: str, deployment: Deployment, port: int) -> str:
    """A file that we ship, with the ports of a test."""
    ports = {
        "6543": deployment.processes[0].port,
        "6544": deployment.processes[1].port,
        "8080": port,
        "8081": port,
    }
    return re.sub(r"127\.0\.0\.1:(\d+)", lambda found: f"127.0.0.1:{ports[found[1]]}", text)


def haproxy(here: Path, directory: Path, deployment: Deployment, port: int) -> list[str]:
    path = directory / "haproxy.cfg"
    path.write_text(configured((here / "deploy/haproxy.cfg").read_text(), deployment, port))
    return ["haproxy", "-db", "-f", str(path)]


def nginx(here: Path, directory: Path, deployment: Deployment, port: int) -> list[str]:
    (directory / "secretsvc.conf").write_text(
        configured((here / "deploy/nginx.conf").read_text(), deployment, port)
    )
    path = directory / "nginx.conf"
    temporary = "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in TEMPORARY)
    path.write_text(
        f"daemon off; pid {directory}/nginx.pid; error_log {directory}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{temporary} include {directory}/secretsvc.conf; }}\n"
    )
    return ["nginx", "-p", str(directory), "-c", str(path), "-e", str(directory / "error.log")]


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def caddy(here: Path, directory: Path, deployment: Deployment, port: int) -> list[str]:
    path = directory / "Caddyfile"
    site = f"http://:{port} {{\n\tbind 127.0.0.1"
    text = (here / "deploy/Caddyfile").read_text().replace("secrets.example.com {", site)
    path.write_text("{\n\tadmin off\n}\n" + configured(text, deployment, port))
    homes = (f"XDG_{kind}_HOME={directory}" for kind in ("CONFIG", "DATA"))
    return ["env", *homes, "caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


BALANCERS = (haproxy, nginx, caddy)
WELL = {("GET", 200), ("POST", 200)}
#: Caddy has handed the body to the process that refused, and has none left for the other.
REFUSED = {"caddy": {("POST", 502)}}


@contextmanager
def balanced(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: process.poll() is not None or is_listening(port)), command
        assert process.poll() is None, command
        yield
    finally:
        process.terminate()
        process.wait()


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


class Crowd:
    """Clients that each keep one connection to a balancer, reading and writing; a context manager.

    The log knows them by their balancer's name. `answers` counts methods with statuses, `written` what was
    acknowledged of each key, which no other crowd writes.
    """

    def __init__(self, port: int, token: str, name: str) -> None:
        self.port, self.token, self.name = port, token, name
        self.answers: Counter[tuple[str, object]] = Counter()
        self.written: Counter[str] = Counter()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        client, named = HttpClient(self.port, self.token), {"X-Request-Id": self.name}
        turn, key = 0, f"{self.name}_{number}".upper()
        while not self._over.is_set():
            turn += 1
            method = "POST" if (turn + number) % 2 else "GET"
            path, body = "/secrets", None
            if method == "POST":
                path, body = "/secrets:batch", {"mode": "merge", "set": {key: str(turn)}}
            try:
                told: object = client.request(method, ENVIRONMENT + path, body, headers=named).status
            except Broken as error:
                told = repr(error)
            self.answers[method, told] += 1
            self.written[key] += (method, told) == ("POST", 200)
            time.sleep(PAUSE)
        client.close()


def is_in_use(process: ServiceProcess, before: int) -> bool:
    """Whether each balancer has sent it somebody, told by its log from a byte on."""
    told = process.output[before:]
    return all(f'"request_id":"{balancer.__name__}"'.encode() in told for balancer in BALANCERS)


def slow_request(port: int, token: str, found: list[object]) -> threading.Thread:
    def run() -> None:
        client = HttpClient(port, token)
        found.append(client.request("GET", "/whoami", headers={HEADER: "20"}).status)
        client.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.long
def test_rolling_restarts_are_not_noticed(deployment, here, tmp_path):
    client, crowds, slow, threads = deployment.client(), [], [], []
    with ExitStack() as stack:
        for balancer in BALANCERS:
            need(balancer.__name__)
            port = free_port()
            stack.enter_context(balanced(balancer(here, tmp_path, deployment, port), port))
            crowds.append(stack.enter_context(Crowd(port, client.token, balancer.__name__)))
            threads.append(slow_request(port, client.token, slow))
        for _ in range(ROUNDS):
            for process in deployment.processes:
                assert process.stop(STOP_SECONDS) == 0
                before = len(process.output)
                process.start()
                # An operator looks at the balancers before the next one's turn comes.
                assert eventually(lambda: is_in_use(process, before), pause=0.5)  # noqa: B023 - it is over by then
        for thread in threads:
            thread.join(PATIENCE)
    assert slow == [200] * len(BALANCERS)
    for crowd in crowds:
        print(crowd.name, crowd.answers)
        assert set(crowd.answers) - REFUSED.get(crowd.name, set()) == WELL
        assert crowd.answers.total() > 20 * ROUNDS
    # What was refused was not done, and nothing was done twice.
    items = client.expect(200, "GET", f"{ENVIRONMENT}/secrets").json["items"]
    client.close()
    assert {item["key"]: item["version"] for item in items} == sum((one.written for one in crowds), Counter())


@pytest.mark.parametrize("balancer", BALANCERS)
def test_the_log_has_the_address_of_whom_the_balancer_serves_whatever_that_says(
    deployment, here, tmp_path, balancer
):
    port = free_port()
    with (
        balanced(balancer(here, tmp_path, deployment, port), port),
        socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.2", 0)) as connection,
    ):
        connection.sendall(
            b"GET /api/v1/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            b"X-Request-Id: who-asks\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
        )
        while connection.recv(65536):
            continue

    def told() -> list[bytes]:
        lines = b"".join(process.output for process in deployment.processes).splitlines()
        return [one for one in lines if b'"who-asks"' in one]

    # Written once the answer has left.
    assert eventually(told)
    (line,) = told()
    assert json.loads(line)["client_address"] == "127.0.0.2"


@pytest.mark.parametrize("name", ["secretsvc.service"])
def test_the_unit_that_we_ship_gives_a_stop_its_time(here, name):
    text = (here / "deploy" / name).read_text()
    found = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert found is not None
    assert int(found[1]) > 30
    assert "Type=notify\n" in text
