"""A stop, as service managers ask for it, cuts nothing that is under way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from databases import SqliteDatabases
from load.slow_client import BEGUN, HEADER
from load.workload import Broken
from processes import START_SECONDS, Deployment, ServiceProcess
from service import API
from tokens import TestIssuer
from waiting import eventually

DAWDLER = "pyramid.includes = load.slow_client"
# Less than any time that a test gives to a stop which need not wait.
SOON = 20.0
ENDLESS = 120.0


@pytest.fixture
def make_process(
    sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path
) -> Iterator[Callable[..., ServiceProcess]]:
    """One process, with settings of its own; requests take as long as they ask for."""
    with Deployment(tmp_path, sqlite_databases.create(), issuer) as deployment:
        yield lambda **settings: deployment.add(settings, ini=DAWDLER)


class Request(threading.Thread):
    """One that takes some seconds and is under way, and what came of it."""

    def __init__(self, process: ServiceProcess, seconds: float) -> None:
        super().__init__(daemon=True)
        self.client, self.seconds = process.client(), seconds
        self.answer: Any = None
        before = process.output.count(BEGUN)
        self.start()
        assert eventually(lambda: process.output.count(BEGUN) > before)

    def run(self) -> None:
        with suppress(*Broken):
            self.answer = self.client.request("GET", "/health", headers={HEADER: str(self.seconds)})


def end_of(process: ServiceProcess, number: int) -> tuple[int, float]:
    """The exit code after a signal, and the seconds that it took."""
    running: subprocess.Popen[bytes] = process._process
    began = time.monotonic()
    running.send_signal(number)
    return running.wait(60), time.monotonic() - began


def begin_to_stop(process: ServiceProcess, number: int) -> None:
    """Sends the signal and waits for the stop to begin, from when on nobody is let in."""
    os.kill(process.pid, number)
    assert eventually(lambda: is_refused(process))


def is_refused(process: ServiceProcess) -> bool:
    try:
        socket.create_connection(("127.0.0.1", process.port), timeout=SOON).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_finished_and_nobody_else_is_let_in(make_process, number):
    process = make_process(DRAIN_SECONDS="30")
    slow = Request(process, 5.0)
    begin_to_stop(process, number)
    assert process._process.wait(SOON) == 0
    slow.join(SOON)
    assert slow.answer.status == 200
    assert slow.answer.headers["connection"] == "close"


def test_a_request_of_twenty_seconds_survives(make_process):
    process = make_process(DRAIN_SECONDS="30")
    slow = Request(process, 20.0)
    assert end_of(process, signal.SIGTERM)[0] == 0
    slow.join(SOON)
    assert slow.answer.status == 200


def test_a_process_that_nobody_uses_ends_at_once(make_process):
    code, seconds = end_of(make_process(DRAIN_SECONDS="30"), signal.SIGTERM)
    assert code == 0
    assert seconds < SOON


def test_an_idle_connection_is_served_once_more_and_then_closed(make_process):
    process = make_process(DRAIN_SECONDS="30")
    clients = [process.client() for _ in range(2)]
    for client in clients:
        client.expect(200, "GET", "/health")
    begin_to_stop(process, signal.SIGTERM)
    for client in clients:
        time.sleep(1.5)
        assert client.expect(200, "GET", "/health").headers["connection"] == "close"
    assert process._process.wait(SOON) == 0


def test_a_client_of_http_1_0_that_would_stay_is_told_too(make_process):
    process = make_process(DRAIN_SECONDS="30")
    raw = f"GET {API}/health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", process.port), timeout=SOON) as connection:
        connection.sendall(raw)
        assert b"\r\nConnection: Keep-Alive\r\n" in connection.recv(65536)
        begin_to_stop(process, signal.SIGTERM)
        time.sleep(1.5)
        connection.sendall(raw)
        answer = connection.recv(65536)
    assert answer.count(b"\r\nConnection: ") == answer.count(b"\r\nConnection: close\r\n") == 1


def test_an_idle_connection_does_not_outlast_the_time_of_the_stop(make_process):
    process = make_process(DRAIN_SECONDS="2")
    client = process.client()
    client.expect(200, "GET", "/health")
    code, seconds = end_of(process, signal.SIGTERM)
    client.close()
    assert (code, 1.5 < seconds < SOON) == (0, True)


def test_what_takes_longer_than_the_stop_is_cut_and_the_log_says_so(make_process):
    process = make_process(DRAIN_SECONDS="1")
    slow = Request(process, ENDLESS)
    code, seconds = end_of(process, signal.SIGTERM)
    assert (code, 0.5 < seconds < SOON) == (0, True)
    assert b"stopping: what is under way has 1 seconds" in process.output
    assert b"the stop cut what was not done in 1 seconds" in process.output
    assert slow.answer is None


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_whoever_asks_twice_does_not_wait(make_process, first):
    process = make_process(DRAIN_SECONDS="60")
    Request(process, ENDLESS)
    begin_to_stop(process, first)
    code, seconds = end_of(process, signal.SIGTERM)
    assert (code, seconds < SOON) == (-signal.SIGTERM, True)


@pytest.mark.parametrize("value", ["", "-1", "soon", "1.5"])
def test_a_malformed_time_for_the_stop_keeps_the_process_from_starting(make_process, value):
    with pytest.raises(AssertionError, match=r"setting DRAIN_SECONDS is malformed"):
        make_process(DRAIN_SECONDS=value)


# Sockets


def http_over(connection: socket.socket) -> bytes:
    # Whoever waits already waits for the start too.
    connection.settimeout(START_SECONDS)
    connection.sendall(f"GET {API}/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
    found = b""
    while piece := connection.recv(65536):
        found += piece
    return found


def started(process: ServiceProcess, listen: str, *command: str, **options: Any) -> subprocess.Popen[bytes]:
    pserve = [*command, sys.executable, "-m", "pyramid.scripts.pserve", str(process.ini), f"listen={listen}"]
    return subprocess.Popen(pserve, env=process._environment(), stderr=subprocess.DEVNULL, **options)


def handed(process: ServiceProcess, listener: socket.socket) -> subprocess.Popen[bytes]:
    """One that is started as systemd does it: the socket is its third file, the first that it is handed."""
    script = f'exec 3<&{listener.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
    return started(process, "127.0.0.1:1", "bash", "-c", script, "bash", pass_fds=[listener.fileno()])


def a_hundred_more(answers: list[bytes]) -> bool:
    """Waits for that many; false where they do not come."""
    before = len(answers)
    return eventually(lambda: len(answers) >= before + 100)


@contextmanager
def manager(process: ServiceProcess, path: Path) -> Iterator[socket.socket]:
    """Where what is started of a process tells that it serves, and that it stops."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(path))
        told.settimeout(START_SECONDS)
        process.settings["NOTIFY_SOCKET"] = str(path)
        yield told


@pytest.fixture
def unstarted(sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path) -> ServiceProcess:
    deployment = Deployment(tmp_path, sqlite_databases.create(), issuer)
    return ServiceProcess(tmp_path / "process", deployment.settings)


def test_it_listens_on_a_unix_socket_and_tells_the_service_manager(unstarted, tmp_path):
    path = tmp_path / "s"
    with manager(unstarted, tmp_path / "n") as told:
        process = started(unstarted, f"unix:{path}")
        try:
            assert told.recv(100) == b"READY=1"
            assert path.stat().st_mode & 0o777 == 0o600
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                assert b'"status":"ok"' in http_over(connection)
            process.terminate()
            assert told.recv(100) == b"STOPPING=1"
            assert process.wait(SOON) == 0
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_it_takes_over_a_socket_on_which_clients_wait_already(unstarted, tmp_path, family):
    address: Any = ("127.0.0.1", 0) if family == socket.AF_INET else str(tmp_path / "s")
    with (
        socket.socket(family) as listener,
        socket.socket(family) as client,
        socket.socket(family) as next_one,
    ):
        listener.bind(address)
        listener.listen()
        client.connect(listener.getsockname())
        process = handed(unstarted, listener)
        try:
            assert b'"status":"ok"' in http_over(client)
            process.terminate()
            assert process.wait(SOON) == 0
            # Whoever comes between two processes waits for the next.
            next_one.connect(listener.getsockname())
        finally:
            process.kill()
            process.wait()


def test_of_two_processes_on_one_socket_each_restarts_and_nobody_notices(unstarted, tmp_path):
    answers: list[bytes] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            with socket.create_connection(listener.getsockname()) as connection:
                answers.append(http_over(connection))

    with (
        socket.create_server(("127.0.0.1", 0), backlog=1024) as listener,
        manager(unstarted, tmp_path / "n") as told,
    ):
        clients = [threading.Thread(target=ask) for _ in range(4)]
        processes = [handed(unstarted, listener) for _ in range(2)]
        try:
            for client in clients:
                client.start()
            # One that is not up yet would be ended by the signal.
            assert [told.recv(100) for _ in processes] == [b"READY=1"] * 2
            for number in (0, 1):
                assert a_hundred_more(answers)
                processes[number].terminate()
                assert processes[number].wait(SOON) == 0
                assert told.recv(100) == b"STOPPING=1"
                processes[number] = handed(unstarted, listener)
                assert told.recv(100) == b"READY=1"
            assert a_hundred_more(answers)
        finally:
            over.set()
            for client in clients:
                client.join()
            for process in processes:
                process.kill()
                process.wait()
    assert {b'"status":"ok"' in answer for answer in answers} == {True}


@pytest.mark.parametrize("is_operations", [False, True])
def test_an_address_that_is_taken_ends_the_start_and_is_named_last(make_process, monkeypatch, is_operations):
    # Bound, and nobody who asks is kept waiting for an answer.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        where = f"127.0.0.1:{port}"
        if not is_operations:
            monkeypatch.setattr("processes.free_port", lambda: port)
        settings = {"OPERATIONS_LISTEN": where} if is_operations else {}
        with pytest.raises(AssertionError, match="ended with 1:") as ended:
            make_process(**settings)
    told = f"nothing can listen on {where}: Address already in use"
    assert str(ended.value).splitlines()[-1] == f"secretsvc.server.server.NotStartedError: {told}"
