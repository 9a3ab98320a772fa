"""Repeated requests: a write that a proxy lost, and a request of `run` to a busy service."""

from __future__ import annotations

import time

import pytest
from hostile import Hostile, answered, refused, secrets, told

GOOD = secrets({"A": "b"})
LOST = answered(502, b"<html>Bad Gateway")
WRITTEN = told(200, {"rev": 1, "changes": [{"kind": "added", "key": "A", "version": 1}]})
WRITES = [
    ("set", "A"),
    ("unset", "A"),
    ("rename", "A", "B"),
    ("import", "-"),
    ("copy", "dev"),
    ("restore", "1"),
    ("restore", "1", "--key", "A"),
]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Pauses take no time, and are listed."""
    pauses, now = [], time.monotonic

    def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr(time, "monotonic", lambda: now() + sum(pauses))
    monkeypatch.setattr("secretsvc_client.api.time.sleep", sleep)
    return pauses


def busy(status, seconds):
    return refused(status, "BUSY").replace(b"\r\n\r\n", b"\r\nRetry-After: %s\r\n\r\n" % seconds, 1)


def keys_of(server):
    return [
        line.partition(b": ")[2]
        for request in server.requests
        for line in request.split(b"\r\n")
        if line.lower().startswith(b"idempotency-key:")
    ]


@pytest.mark.parametrize("command", WRITES, ids="-".join)
def test_a_write_that_a_proxy_lost_is_sent_again_with_its_key(ask, at, command):
    with Hostile(LOST, WRITTEN) as server:
        done = ask(*command, stdin=b"A=1", **at(server))
        again = ask(*command, stdin=b"A=1", **at(server))
    assert (done.code, again.code) == (0, 0), done.err
    first, second, third = keys_of(server)
    assert first == second != third
    assert server.requests[0].partition(b"\r\n\r\n")[2] == server.requests[1].partition(b"\r\n\r\n")[2]


def test_a_write_that_is_lost_each_time_is_given_up(ask, at, clock):
    with Hostile(LOST) as server:
        done = ask("set", "A", stdin=b"1", **at(server))
    assert (done.code, len(server.requests), clock) == (3, 3, [0.5, 1.5])
    assert "It may be written or not: see `secretsvc history`." in done.err


def test_what_the_service_does_not_know_again_is_sent_once(ask, at):
    with Hostile(LOST) as server:
        assert ask("projects", "--create", "a", **at(server)).code == 3
        assert ask("list", **at(server)).code == 3
    assert (len(server.requests), keys_of(server)) == (2, [])


@pytest.mark.parametrize("failure", [answered(500, b""), answered(504, b""), b""], ids=["500", "504", "cut"])
def test_a_write_that_failed_otherwise_is_sent_once(ask, at, failure):
    with Hostile(failure) as server:
        assert ask("set", "A", stdin=b"1", **at(server)).code == 3
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [503, 429])
def test_run_asks_a_busy_service_again(ask, at, clock, status):
    with Hostile(busy(status, b"2"), busy(status, b"0"), GOOD) as server:
        done = ask("run", "--", "true", **at(server))
    assert done.started[2][b"A"] == b"b"
    assert clock == [2.0, 0.25]


@pytest.mark.parametrize(
    ("flags", "seconds", "requests"),
    [((), b"4", 3), ((), b"11", 1), (("--wait", "30"), b"11", 3), (("--wait", "0"), b"1", 1)],
    ids=["twice", "too long", "longer", "never"],
)
def test_run_waits_no_longer_than_it_may(ask, at, flags, seconds, requests):
    with Hostile(busy(503, seconds)) as server:
        done = ask("run", *flags, "--", "true", **at(server))
    assert (done.code, done.reason, len(server.requests)) == (125, 3, requests)
    assert f"Ask again in {seconds.decode()} s." in done.err


@pytest.mark.parametrize(
    "answer",
    [refused(503, "UNAVAILABLE"), busy(503, b"soon"), busy(502, b"1"), busy(403, b"1")],
    ids=["without", "malformed", "502", "403"],
)
def test_run_asks_once_where_nothing_says_when(ask, at, answer):
    with Hostile(answer) as server:
        assert ask("run", "--", "true", **at(server)).code == 125
    assert len(server.requests) == 1


def test_other_commands_do_not_wait(ask, at):
    with Hostile(busy(503, b"1")) as server:
        assert ask("list", **at(server)).code == 3
    assert len(server.requests) == 1


def test_the_real_service_does_a_repeated_write_once(ask, real, service):
    """A relay passes the write on and answers 502, as where a process dies after its commit."""
    from balancer import Balancer

    with Balancer(real()["SECRETSVC_URL"]) as relay:
        relay.after = lambda number, answer: LOST if number == 0 else answer
        done = ask("set", "A", stdin=b"1", **{**real(), "SECRETSVC_URL": relay.url})
    assert (done.code, len(relay.requests)) == (0, 2), done.err
    assert service.user().get("/projects/shop/environments/prod/secrets").json["rev"] == 1
    assert b"Idempotency-Replayed: true" in relay.answers[1]
