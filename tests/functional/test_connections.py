"""What one connection may take of the server, and what happens to the others meanwhile."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from key_cache import Clock
from server import running
from waiting import PATIENCE
from waiting import eventually as comes

from secretsvc.server import connections
from secretsvc.server.channel import RESET
from secretsvc.server.factory import make_server
from secretsvc.server.limits import ConnectionLimits
from secretsvc.server.server import Server
from secretsvc.web.plaintext_budget import ON_SENT

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
BIG = b"x" * (16 * 1024 * 1024)
#: Bytes of an answer that the kernel keeps. By default it keeps megabytes; how many depends on the machine.
KERNEL_BUFFER = 64 * 1024
SOON = PATIENCE
DEADLINES = dict.fromkeys(("header_seconds", "grace_seconds", "unread_seconds", "linger_seconds"), PATIENCE)
LIMITS = {"body_bytes": 100_000, "stalled_seconds": 0.2, **DEADLINES}
#: For tests in which a deadline passes; in the others a busy machine must not make one pass.
SHORT = dict.fromkeys(DEADLINES, 0.5)


class Application:
    """Answer `/big` with more than the kernel keeps, and `/wait` once released; record what was served."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.sent: list[str] = []
        self.release = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        self.served.append(path)
        environ[ON_SENT].append(lambda: self.sent.append(path))
        if path == "/wait":
            self.release.wait(SOON)
        if path == "/crash":
            raise RuntimeError
        size = len(environ["wsgi.input"].read())
        body = BIG if path == "/big" else b"%d" % size
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def deadlines() -> dict[str, float]:
    """Those of the server."""
    return {}


@pytest.fixture
def short_deadlines(deadlines: dict[str, float]) -> None:
    """Of half a second."""
    deadlines.update(SHORT)


@pytest.fixture
def short_grace(deadlines: dict[str, float]) -> None:
    """Half a second, and nobody is dropped for a pause."""
    deadlines["grace_seconds"] = SHORT["grace_seconds"]


@pytest.fixture
def server(
    application: Application, deadlines: dict[str, float], request: pytest.FixtureRequest
) -> Iterator[Server]:
    """A test may narrow limits by `indirect` parameters."""
    limits = ConnectionLimits(**{**LIMITS, **deadlines, **getattr(request, "param", {})})
    made = Server(application, limits, listen="127.0.0.1:0", threads=2)
    made.adj.socket_options = [*made.adj.socket_options, (socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER)]
    with running(made):
        yield made
        application.release.set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the server's deadlines go by: it stands still until it is told otherwise."""
    made = Clock()
    for module in ("channel", "send_buffer", "connections"):
        monkeypatch.setattr(f"secretsvc.server.{module}.time", SimpleNamespace(monotonic=made))
    return made


@contextmanager
def connected(server: Server, buffer: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as connection:
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(SOON)
        connection.connect(("127.0.0.1", int(server.effective_port)))
        yield connection


def ask(server: Server, raw: bytes = GET) -> bytes:
    """One answer on a connection of its own."""
    with connected(server) as connection:
        connection.sendall(raw)
        return connection.recv(65536)


def received(connection: socket.socket) -> bytes:
    """All until the server hangs up, in whatever way."""
    found = bytearray()
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return bytes(found)


def taken(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes, or what comes until the server hangs up."""
    found = bytearray()
    while len(found) < size and (piece := connection.recv(size - len(found))):
        found += piece
    return bytes(found)


def drip(connection: socket.socket, piece: bytes) -> None:
    """Sends the piece again and again until the server has had enough."""
    deadline = time.monotonic() + 2 * SOON
    while True:
        assert time.monotonic() < deadline
        try:
            connection.sendall(piece)
        except ConnectionError:
            return
        time.sleep(0.05)


def eventually(true: Callable[[], object]) -> None:
    assert comes(true)


def let_pass(server: Server, clock: Clock, seconds: float) -> None:
    """The time passes, and the server looks at its deadlines, which it does when anybody comes."""
    before = len(server.traffic)
    clock.advance(seconds)
    eventually(lambda: ask(server) and server.traffic._swept == clock.now)
    # A worker may not have noted yet that it sent an answer, which would be late once the clock goes on.
    eventually(lambda: len(server.traffic) <= before)


def post(length: int, *lines: bytes) -> bytes:
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: h", b"Content-Length: %d" % length, *lines, b"", b""])


# Deadlines of requests


@pytest.mark.slow
@pytest.mark.usefixtures("short_deadlines")
def test_a_header_that_does_not_end_is_given_up_however_often_a_byte_comes(server):
    with connected(server) as connection:
        began = time.monotonic()
        drip(connection, b"G")
    assert 0.4 < time.monotonic() - began < SOON
    assert server.traffic.dropped == {"header_slow": 1}


@pytest.mark.slow
@pytest.mark.usefixtures("short_deadlines")
def test_who_was_dropped_is_told_by_the_log(server, monkeypatch, caplog):
    monkeypatch.setattr(connections, "REPORT_SECONDS", 0.0)
    with connected(server) as connection:
        drip(connection, b"G")
    assert comes(lambda: "connections were dropped: 1 header_slow" in caplog.text)


@pytest.mark.slow
@pytest.mark.usefixtures("short_deadlines")
@pytest.mark.parametrize(
    "head", [post(90_000), b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"]
)
def test_a_body_below_the_least_rate_is_given_up(server, head):
    with connected(server) as connection:
        began = time.monotonic()
        connection.sendall(head)
        drip(connection, b"1\r\nx\r\n")
    assert 0.4 < time.monotonic() - began < SOON
    assert server.traffic.dropped == {"body_slow": 1}


@pytest.mark.usefixtures("short_deadlines")
def test_a_body_above_the_least_rate_may_take_longer(clock, server):
    """20,000 bytes in 1.1 seconds; the least is 16 KiB a second."""
    with connected(server) as connection:
        connection.sendall(post(100_000))
        for number in range(5):
            connection.sendall(b"x" * 20_000)
            if number < 4:
                eventually(lambda arrived=20_000 * (number + 1): server.traffic.request_bytes >= arrived)
                let_pass(server, clock, 1.1)
        assert connection.recv(65536).endswith(b"\r\n\r\n100000")


@pytest.mark.slow
@pytest.mark.parametrize("server", [{"idle_seconds": 0.5}], indirect=True)
def test_a_connection_that_asks_for_nothing_is_closed_in_the_end(server):
    with connected(server) as connection:
        began = time.monotonic()
        connection.sendall(GET)
        connection.recv(65536)
        received(connection)
        assert 0.5 < time.monotonic() - began < SOON


@pytest.mark.parametrize("server", [{"idle_seconds": 1.0}], indirect=True)
def test_a_connection_in_use_stays_open(clock, server):
    with connected(server) as connection:
        for _ in range(8):
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            let_pass(server, clock, 1.0)
        let_pass(server, clock, 1.1)
        assert received(connection) == b""


# Answers that nobody takes


def test_no_worker_waits_for_a_client_that_does_not_read(server):
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(connected(server, 4096)).sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n" * 20)
        for _ in range(10):
            assert ask(server).startswith(b"HTTP/1.1 200")
    eventually(lambda: server.traffic.answer_bytes == 0)


@pytest.mark.slow
def test_an_answer_of_which_nothing_is_taken_is_given_up(server, application):
    with connected(server, 4096) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
        eventually(lambda: server.traffic.answer_bytes > 0)
        assert application.sent == []
        server.traffic.limits = replace(server.traffic.limits, unread_seconds=0.5)
        eventually(lambda: server.traffic.dropped)
        assert server.traffic.dropped == {"answer_unread": 1}
        assert server.traffic.answer_bytes == 0
        assert application.sent == ["/big"]


@pytest.mark.usefixtures("short_grace")
def test_an_answer_that_is_taken_below_the_least_rate_is_given_up(clock, server):
    """A KiB in 1.1 seconds; the least is 64 KiB a second."""
    with connected(server, KERNEL_BUFFER) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
        eventually(lambda: server.traffic.answer_bytes > 0)
        for _ in range(30):
            if server.traffic.dropped:
                break
            connection.recv(1024)
            let_pass(server, clock, 1.1)
    assert server.traffic.dropped == {"answer_slow": 1}


@pytest.mark.usefixtures("short_grace")
def test_a_slow_reader_within_the_rate_gets_all_of_it(clock, server):
    """Half a MiB in 1.1 seconds; the least is 64 KiB a second."""
    found = passed = 0
    with connected(server, KERNEL_BUFFER) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        while piece := taken(connection, 512 * 1024):
            found += len(piece)
            if server.traffic.answer_bytes:
                passed += 1
                let_pass(server, clock, 1.1)
    assert found > len(BIG)
    # Of 33 pieces: the kernel keeps few of them.
    assert passed > 25


@pytest.mark.slow
@pytest.mark.parametrize("server", [{"answer_bytes": 40_000_000, "unread_seconds": 60.0}], indirect=True)
def test_where_there_is_no_room_for_all_answers_those_that_nobody_takes_go(server, application):
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(connected(server, 4096)).sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
        eventually(lambda: len(application.served) == 6)
        eventually(lambda: server.traffic.answer_bytes <= 40_000_000)
        assert set(server.traffic.dropped) == {"answer_bytes"}
        assert server.traffic.answer_bytes > 0
        assert ask(server).startswith(b"HTTP/1.1 200")


# One request at a time


def test_the_next_request_is_not_begun_before_the_answer_to_the_last_has_left(server, application):
    with connected(server, 4096) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
        eventually(lambda: server.traffic.answer_bytes > 0)
        time.sleep(0.1)
        assert application.served == ["/big"]
        while not application.sent:
            connection.recv(1024 * 1024)
        eventually(lambda: application.served == ["/big", "/"])


@pytest.mark.parametrize("count", [2, 3, 50, 1_000])
def test_requests_that_are_sent_ahead_are_answered_in_their_order(server, application, count):
    with connected(server) as connection:
        sender = threading.Thread(target=connection.sendall, args=(GET * count,))
        sender.start()
        found = b""
        while found.count(b"HTTP/1.1 200 OK") < count:
            found += connection.recv(65536)
        sender.join()
    assert application.served == ["/"] * count


def test_of_what_is_sent_ahead_one_buffer_is_kept(server, application):
    with connected(server) as connection:
        connection.sendall(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n" + GET * 1_000)
        eventually(lambda: application.served == ["/wait"])
        (channel,) = server.traffic._order
        assert len(channel._unparsed) <= 8192
        assert not channel.readable()
        application.release.set()
        found = b""
        while found.count(b"HTTP/1.1 200 OK") < 1_001:
            found += connection.recv(65536)
    assert len(application.served) == 1_001


def test_head_and_get_in_one_go_are_told_apart(server):
    with connected(server) as connection:
        connection.sendall(
            GET.replace(b"GET", b"HEAD") + GET.replace(b"h\r\n", b"h\r\nConnection: close\r\n")
        )
        found = received(connection)
    assert len(re.findall(rb"HTTP/1.1 200 OK", found)) == 2


@pytest.mark.parametrize(
    ("version", "header", "stays"),
    [
        (b"1.0", b"", False),
        (b"1.0", b"Connection: keep-alive\r\n", True),
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close\r\n", False),
    ],
)
def test_a_connection_stays_open_as_its_version_and_header_say(server, version, header, stays):
    with connected(server) as connection:
        connection.sendall(b"GET / HTTP/%b\r\nHost: h\r\n%b\r\n" % (version, header))
        assert connection.recv(65536).endswith(b"\r\n\r\n0")
        if stays:
            connection.sendall(GET)
            assert connection.recv(65536).endswith(b"\r\n\r\n0")
        else:
            assert connection.recv(1) == b""


# Slots


@pytest.mark.parametrize("server", [{"connections": 20}], indirect=True)
@pytest.mark.parametrize("first", [b"", b"GET / HT"])
def test_at_the_limit_the_oldest_without_a_request_makes_room(server, first):
    with ExitStack() as stack:
        others = []
        for _ in range(30):
            others.append(stack.enter_context(connected(server)))
            others[-1].sendall(first)
            assert ask(server).startswith(b"HTTP/1.1 200")
        assert len(server.traffic) <= 20
        assert received(others[0]) == b""
        others[-1].sendall(GET[len(first) :])
        assert others[-1].recv(65536).startswith(b"HTTP/1.1 200")
    assert set(server.traffic.dropped) == {"connection_limit"}


def kept(server: Server, stack: ExitStack) -> socket.socket:
    """A connection that has carried a whole request, and stays open."""
    connection = stack.enter_context(connected(server))
    connection.sendall(GET)
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    return connection


def silent(server: Server, stack: ExitStack, count: int) -> list[socket.socket]:
    """Connections that the server has accepted and that have carried nothing."""

    def accepted() -> int:
        return len(server.traffic) + server.traffic.dropped["connection_limit"]

    before = accepted()
    found = [stack.enter_context(connected(server)) for _ in range(count)]
    eventually(lambda: accepted() == before + count)
    return found


@pytest.mark.parametrize("server", [{"connections": 20}], indirect=True)
def test_a_connection_that_has_carried_a_request_outlasts_a_flood_of_those_that_have_not(server):
    with ExitStack() as stack:
        idle = [kept(server, stack) for _ in range(10)]
        flood = silent(server, stack, 60)
        for connection in idle:
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert received(flood[0]) == b""
        flood[-1].sendall(GET)
        assert flood[-1].recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("server", [{"connections": 20}], indirect=True)
def test_half_of_the_places_are_for_newcomers_however_many_have_carried_a_request(server):
    with ExitStack() as stack:
        idle = [kept(server, stack) for _ in range(40)]
        newcomers = silent(server, stack, 10)
        # The next one closes the oldest of them, and none that has carried a request.
        newcomers += silent(server, stack, 1)
        assert received(newcomers[0]) == b""
        for connection in [*newcomers[1:], *idle[30:]]:
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert received(idle[29]) == b""


@pytest.mark.parametrize("server", [{"connections": 4}], indirect=True)
def test_answers_that_are_not_read_do_not_keep_newcomers_out(server, clock):
    with ExitStack() as stack:
        for _ in range(3):
            unread = stack.enter_context(connected(server, buffer=4096))
            unread.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
        eventually(lambda: sum(one._outgoing.pending > 0 for one in list(server.traffic._order)) == 3)
        clock.advance(1.0)
        for connection in silent(server, stack, 2):
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_what_was_told_of_a_connection_is_not_taken_for_one_that_has_its_descriptor_since(application):
    server = Server(
        application, ConnectionLimits(**{**LIMITS, "connections": 1}), listen="127.0.0.1:0", threads=1
    )
    try:
        with connected(server) as first, ExitStack() as stack:
            server.turn()
            assert len(server.traffic) == 1
            others = [stack.enter_context(connected(server)) for _ in range(2)]
            first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            first.close()
            server.turn()
            others[1].sendall(GET)
            eventually(lambda: server.turn() or application.sent)
            assert others[1].recv(65536).startswith(b"HTTP/1.1 200")
    finally:
        server.stop(drain=0)
        server.run()


def test_a_connection_of_which_the_kernel_said_too_much_stays_open(server):
    with connected(server) as connection:
        eventually(lambda: len(server.traffic) == 1)
        (channel,) = server.traffic._order
        channel.handle_read()
        connection.sendall(GET)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("server", [{"connections": 3}], indirect=True)
def test_at_the_limit_nobody_whose_request_is_under_way_is_dropped(server, application):
    with ExitStack() as stack:
        busy = [stack.enter_context(connected(server)) for _ in range(3)]
        for connection in busy:
            connection.sendall(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
        eventually(lambda: sum(not channel.is_waiting for channel in list(server.traffic._order)) == 3)
        with connected(server) as newcomer:
            head, _, body = received(newcomer).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in head
        assert json.loads(body)["code"] == "UNAVAILABLE"
        application.release.set()
        for connection in busy:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_an_application_that_crashes_leaves_no_path_in_the_log(server, caplog):
    assert ask(server, GET.replace(b"/ ", b"/crash ")).split()[1] == b"500"

    eventually(lambda: caplog.records)
    assert [one.getMessage() for one in caplog.records] == ["Exception while serving a request"]


def test_a_connection_that_ends_with_something_unread_gives_its_client_the_whole_answer(server):
    closing = b"GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    with connected(server) as connection:
        connection.sendall(closing + GET * 1_000)
        time.sleep(0.3)
        found = 0
        with suppress(ConnectionResetError):
            while piece := connection.recv(1024 * 1024):
                found += len(piece)
    assert found > len(BIG)


# Bodies


@pytest.mark.parametrize("server", [{"request_bytes": 500_000}], indirect=True)
def test_bodies_that_are_not_whole_are_bounded_for_all_together(server):
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(connected(server))
            connection.sendall(post(100_000) + b"x" * 60_000)
        eventually(lambda: server.traffic.dropped["request_bytes"] >= 11)
        # At the end of each turn of the loop, which may be at one now.
        eventually(lambda: server.traffic.request_bytes <= 500_000)
        assert ask(server, post(9) + b"x" * 9).endswith(b"9")
    eventually(lambda: server.traffic.request_bytes == 0)


def test_what_requests_held_is_given_back_however_they_end(server, application):
    for path in (b"/", b"/crash"):
        raw = post(50_000, b"Connection: close").replace(b"POST /", b"POST " + path) + b"x" * 50_000
        with connected(server) as connection:
            connection.sendall(raw)
            received(connection)
    with connected(server) as connection:
        connection.sendall(post(50_000).replace(b"POST /", b"POST /wait") + b"x" * 50_000)
        eventually(lambda: "/wait" in application.served)
        assert server.traffic.request_bytes > 0
    application.release.set()
    eventually(lambda: server.traffic.request_bytes == 0)
    eventually(lambda: application.sent == ["/", "/crash", "/wait"])


@pytest.mark.parametrize(("size", "status"), [(100_000, b"200"), (100_001, b"413")])
@pytest.mark.parametrize("frame", [5, 100, 100_001])
def test_the_limit_of_a_chunked_body_is_that_of_its_content(server, size, status, frame):
    whole, rest = divmod(size, frame)
    body = (b"%x\r\n%b\r\n" % (frame, b"x" * frame)) * whole
    body += b"%x\r\n%b\r\n" % (rest, b"x" * rest) if rest else b""
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert ask(server, head + body + b"0\r\n\r\n").split()[1] == status


def test_what_stands_between_the_chunks_is_bounded(server):
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert ask(server, head + b"1;" + b"a" * 300_000).split()[1] == b"413"
    assert ask(server, head + b"0\r\nA: " + b"a" * 300_000).split()[1] == b"413"


def test_a_body_that_is_announced_over_the_limit_is_refused_before_it_is_sent(server):
    for lines in ((), (b"Expect: 100-continue",)):
        answer = ask(server, post(100_001, *lines))
        assert answer.split()[1] == b"413"
        assert b"100 Continue" not in answer


def test_a_client_that_is_refused_while_it_sends_meets_the_answer_and_no_reset(server):
    with connected(server) as connection:
        connection.sendall(post(3_000_000))
        for _ in range(30):
            connection.sendall(b"x" * 100_000)
            time.sleep(0.005)
        connection.shutdown(socket.SHUT_WR)
        assert received(connection).split()[1] == b"413"


@pytest.mark.slow
@pytest.mark.usefixtures("short_deadlines")
def test_a_client_that_never_ends_what_was_refused_is_left(server):
    with connected(server) as connection:
        connection.sendall(post(10**9))
        drip(connection, b"x" * 10_000)


@pytest.mark.parametrize("body", [b"", b"12345"])
def test_a_client_that_waits_for_permission_gets_it_once_and_then_its_answer(server, body):
    with connected(server) as connection:
        connection.sendall(post(len(body), b"Expect: 100-continue"))
        if body:
            assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(body)
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\n%d" % len(body))


def test_nothing_is_laid_down_on_disk(server, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not-there"))
    assert ask(server, post(100_000) + b"x" * 100_000).endswith(b"100000")
    with connected(server) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert received(connection).endswith(BIG)


def test_a_stop_that_meets_the_end_of_the_loop_wakes_nothing_that_is_closed(application, monkeypatch):
    server = Server(application, ConnectionLimits(**LIMITS), listen="127.0.0.1:0", threads=1)
    loop = threading.Thread(target=server.run)
    loop.start()
    wake = server.listeners[0].pull_trigger

    def wake_late() -> None:
        wake()
        loop.join(timeout=0.2)
        wake()

    monkeypatch.setattr(server.listeners[0], "pull_trigger", wake_late)
    server.stop(drain=0)
    loop.join(SOON)
    assert not loop.is_alive()


def test_the_objects_of_the_start_are_frozen_before_it_serves(application, monkeypatch):
    order, run = [], Server.run

    def run_briefly(server: Server) -> None:
        order.append("run")
        server.stop(drain=0)
        run(server)

    monkeypatch.setattr("gc.freeze", lambda: order.append("freeze"))
    monkeypatch.setattr(Server, "run", run_briefly)
    # The application of these tests has none.
    monkeypatch.setattr("secretsvc.server.factory.registry_behind", lambda _application: None)
    make_server({}, listen="127.0.0.1:0")(application)
    assert order == ["freeze", "run"]
