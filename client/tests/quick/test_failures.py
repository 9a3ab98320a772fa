"""Whatever goes wrong, `run` starts nothing, sends no credential elsewhere, and says why in one line."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest
from failing import CASES, GOOD, LONG, PATIENCE
from hostile import Hostile, closed_port, refused, secrets
from tls import authority
from waiting import eventually

WAIT, WAIT_LONG = ("--timeout", str(PATIENCE)), ("--timeout", str(LONG))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_service_that_fails_starts_nothing(ask, at, case):
    with Hostile(GOOD) as other, Hostile(case.script(other.url)) as server:
        done = ask("run", "--timeout", str(case.patience), "--", "true", **at(server))
        # On a busy machine the server may read the request after the client has given up.
        assert eventually(lambda: server.requests)
    assert (done.code, done.reason, done.started) == (125, case.code, None)
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert other.requests == []
    assert len(server.requests) == 1
    assert "the-token" not in done.err
    assert "new-value" not in done.err


def test_there_are_forty_such_cases_at_least():
    assert len({case.name for case in CASES}) >= 40


def test_a_service_that_is_stopped_is_not_reached(ask, at):
    done = ask("run", "--", "true", **at(f"http://127.0.0.1:{closed_port()}"))
    assert (done.code, done.reason, done.started) == (125, 3, None)
    assert done.err.count("\n") == 1


def test_a_name_that_nobody_knows_is_not_reached(ask, at):
    done = ask("run", *WAIT, "--", "true", **at("https://no-such-host.invalid"))
    assert (done.code, done.reason, done.started) == (125, 3, None)


@pytest.fixture
def certificate(tmp_path):
    return authority(tmp_path, "server")


def test_a_certificate_that_nobody_trusts_is_refused(ask, at, certificate):
    with Hostile(GOOD, certificate=certificate) as server:
        done = ask("run", *WAIT_LONG, "--", "true", **at(server))
    assert (done.code, done.reason, done.started, server.requests) == (125, 4, None, [])
    assert "certificate" in done.err


def test_a_certificate_of_another_host_is_refused(ask, at, certificate):
    with Hostile(GOOD, certificate=certificate) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        done = ask("run", *WAIT_LONG, "--", "true", **at(url, SSL_CERT_FILE=str(certificate)))
    assert (done.code, done.reason, done.started, server.requests) == (125, 4, None, [])


def test_a_certificate_that_fits_is_taken(ask, at, certificate, tmp_path):
    log = tmp_path / "keys"
    with Hostile(GOOD, certificate=certificate) as server:
        given = at(server, SSL_CERT_FILE=str(certificate), SSLKEYLOGFILE=str(log))
        done = ask("run", *WAIT_LONG, "--", "true", **given)
    assert done.started
    assert not log.exists()


@pytest.mark.slow
def test_what_speaks_no_tls_is_not_reached(ask, at):
    # The server waits for the end of a request, as servers of HTTP do: the deadline must not be needed.
    with Hostile(GOOD) as server:
        done = ask("run", "--timeout", "600", "--", "true", **at(server.url.replace("http:", "https:")))
    assert (done.code, done.reason, done.started) == (125, 3, None)
    assert "does not speak TLS" in done.err
    assert b"HEAD / HTTP/1.0\r\n\r\n" in server.requests
    assert not any(b"the-token" in request for request in server.requests)


def test_what_answers_tls_with_http_is_not_reached(ask, at):
    def refuse():
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            while connection.recv(1000):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse)
        thread.start()
        port = listener.getsockname()[1]
        done = ask("list", "--timeout", "600", **at(f"https://127.0.0.1:{port}"))
        thread.join()
    assert "does not speak TLS | Does the URL begin with http?" in done.err


def test_an_error_says_what_to_do_next_and_the_request_id(ask, at):
    with Hostile(refused(403, "FORBIDDEN", "You may not.", hint="Ask\x1b[2J ann.")) as server:
        done = ask("list", **at(server))
        found = ask("list", "--json", **at(server))
    assert "403 You may not. | Ask\\x1b[2J ann. (request server-1)" in done.err
    told = json.loads(found.err)["error"]
    assert (told["exit_code"], told["code"], told["request_id"]) == (4, "FORBIDDEN", "server-1")


def test_where_the_service_says_when_it_says_so(ask, at):
    answer = refused(429, "RATE_LIMITED").replace(b"\r\n\r\n", b"\r\nRetry-After: 7\r\n\r\n", 1)
    with Hostile(answer) as server:
        assert "Ask again in 7 s." in ask("list", **at(server)).err


def test_where_no_answer_came_the_request_id_is_the_one_that_was_sent(ask, at):
    with Hostile(b"") as server:
        done = ask("list", **at(server))
    sent = server.requests[0].partition(b"X-Request-Id: ")[2].partition(b"\r\n")[0].decode()
    assert f"(request {sent})" in done.err


def test_what_nobody_thought_of_is_told_without_its_text(ask, at, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr("secretsvc_client.commands.run.replaced", fail)
    with Hostile(secrets({"A": "canary"})) as server:
        done = ask("run", "--", "true", **at(server))
    assert (done.code, done.reason) == (125, 1)
    assert "RuntimeError at test_failures.py" in done.err
    assert "canary" not in done.err


def test_the_debug_log_names_requests_and_nothing_secret(ask, at):
    with Hostile(secrets({"A": "canary"})) as server:
        done = ask("run", "--debug", "--", "true", **at(server))
    assert "GET /api/v1/projects/shop/environments/prod/secrets:export" in done.err
    assert "canary" not in done.err
    assert "the-token" not in done.err
