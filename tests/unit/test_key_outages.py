"""When the key source fails, known keys go on working, and the rest is told to come back later."""

from __future__ import annotations

import contextlib
import datetime
import http.server
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from jwks_server import Answer, KeyServer, answer
from key_cache import ALGORITHMS, COOLDOWN, Clock, cache, outcome
from tokens import TestIssuer, ec_key
from waiting import PATIENCE, eventually

from secretsvc.authentication import jwks
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.jwks_source import MAX_BYTES

UNAVAILABLE = "IDENTITY_PROVIDER_UNAVAILABLE"
DEADLINE = 1.0
# What a busy machine may add to a deadline: without one, these sources would never end.
SLACK = PATIENCE


def drip(head: bytes, every: float = 0.05) -> Answer:
    """`head` at once and then a byte now and again, for ever."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(head)
        while not handler.server.closing.wait(every):  # type: ignore[attr-defined]
            handler.wfile.write(b"x")

    return send


def truncated(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"keys":[{"kty":"RSA"')


def endless_chunks(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        handler.wfile.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")


def not_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example.com ESMTP\r\n")


def silent(handler: BaseHTTPRequestHandler) -> None:
    handler.server.closing.wait(PATIENCE)  # type: ignore[attr-defined]


def hung_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def no_fetch_runs() -> bool:
    return all(thread.name != "key-fetch" for thread in threading.enumerate())


def give(keys: KeyCache, seconds: float) -> None:
    """From now on a fetch has so long: a busy machine needs longer for one that is to succeed."""
    keys._deadline = keys._source._deadline = seconds  # type: ignore[attr-defined]


FAILURES: dict[str, Answer] = {
    "500": answer(b'{"keys":[]}', 500),
    "403": answer(b"", 403),
    "HTML": answer(b"<!doctype html><p>Sign in", 200, **{"Content-Type": "text/html"}),
    "empty": answer(b""),
    "no content": answer(b"", 204),
    "an array": answer(b"[]"),
    "an object": answer(b"{}"),
    "null keys": answer(b'{"keys":null}'),
    "no keys": answer(b'{"keys":[]}'),
    "binary": answer(bytes(range(256))),
    "very deep": answer(b"[" * 200_000),
    "truncated": truncated,
    "10 MiB": answer(b" " * 10_485_760),
    "endless chunks": endless_chunks,
    "not HTTP": not_http,
    "hung up": hung_up,
    "silent": silent,
    "a dripping body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
    "a dripping header": drip(b"HTTP/1.1 200 OK\r\nX-Drip: "),
    "a dripping status": drip(b"HTTP/1.1 200 "),
}
#: Those that only the deadline ends.
ENDLESS = {name for name in FAILURES if name == "silent" or name.startswith("a dripping")}


def deadline_for(failure: str) -> float:
    """Seconds for one fetch: short only where the deadline has to pass."""
    return DEADLINE if failure in ENDLESS else PATIENCE


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_source_leaves_known_keys_and_makes_others_unavailable(
    server: KeyServer, clock: Clock, failure: str
) -> None:
    keys = cache(server.url, clock)
    assert outcome(keys, "rsa-1") == "found"
    server.answer = FAILURES[failure]
    give(keys, deadline_for(failure))
    began = time.monotonic()
    assert outcome(keys, "unknown") == UNAVAILABLE
    assert time.monotonic() - began < DEADLINE + SLACK
    clock.advance(jwks.SOFT_LIFE)
    assert outcome(keys, "rsa-1") == "found"
    assert eventually(lambda: keys._pending is None)
    assert outcome(keys, "rsa-1") == "found"
    assert eventually(lambda: server.hits == 3)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_source_that_fails_from_the_first_makes_every_key_unavailable(
    issuer: TestIssuer, server: KeyServer, clock: Clock, failure: str
) -> None:
    server.answer = FAILURES[failure]
    keys = cache(server.url, clock, deadline=deadline_for(failure))
    began = time.monotonic()
    assert {outcome(keys, "rsa-1"), outcome(keys, "rsa-1")} == {UNAVAILABLE}
    assert time.monotonic() - began < DEADLINE + SLACK
    assert eventually(lambda: server.hits == 1)
    give(keys, PATIENCE)
    server.serve(issuer.jwks("rsa-1"))
    clock.advance(COOLDOWN)
    assert outcome(keys, "rsa-1") == "found"


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["a dripping body", "a dripping header", "silent"])
def test_an_attempt_ends_at_its_deadline_and_leaves_no_thread(
    server: KeyServer, clock: Clock, failure: str
) -> None:
    server.answer = FAILURES[failure]
    assert outcome(cache(server.url, clock, deadline=DEADLINE), "rsa-1") == UNAVAILABLE
    assert eventually(no_fetch_runs)


@pytest.mark.slow
def test_by_default_a_fetch_has_three_seconds(server: KeyServer, clock: Clock) -> None:
    server.answer = drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", every=1.0)
    keys = KeyCache(server.url, ALGORITHMS, COOLDOWN, clock=clock)
    began = time.monotonic()
    assert outcome(keys, "rsa-1") == UNAVAILABLE
    assert 2.5 < time.monotonic() - began < 3 + SLACK


def test_an_endless_document_is_given_up_at_its_greatest_size_before_the_deadline(
    server: KeyServer, clock: Clock
) -> None:
    server.answer = endless_chunks
    began = time.monotonic()
    assert outcome(cache(server.url, clock), "rsa-1") == UNAVAILABLE
    assert time.monotonic() - began < PATIENCE / 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(issuer: TestIssuer, server: KeyServer, clock: Clock, status: int) -> None:
    with KeyServer(issuer.jwks()) as elsewhere:
        server.answer = answer(b"", status, Location=elsewhere.url)
        assert outcome(cache(server.url, clock), "rsa-1") == UNAVAILABLE
        assert (server.hits, elsewhere.hits) == (1, 0)


def test_a_source_that_refuses_the_connection_is_unavailable(clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert outcome(cache(f"http://127.0.0.1:{port}/certs", clock), "rsa-1") == UNAVAILABLE


def test_a_document_of_the_greatest_size_is_read_and_no_greater(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    document = issuer.jwks()
    server.serve(document + b" " * (MAX_BYTES - len(document)))
    assert outcome(cache(server.url, clock), "rsa-1") == "found"
    server.serve(document + b" " * (MAX_BYTES - len(document) + 1))
    assert outcome(cache(server.url, clock), "rsa-1") == UNAVAILABLE


def test_a_loopback_source_is_not_asked_through_a_proxy(
    server: KeyServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KeyServer(b"{}") as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert outcome(cache(server.url, clock), "rsa-1") == "found"
        assert proxy.hits == 0


# TLS.


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of 127.0.0.1 with its key."""
    private, now = ec_key("tls"), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = builder.add_extension(addresses, critical=False)
    signed = builder.sign(private, hashes.SHA256())
    path = tmp_path / "tls.pem"
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(signed.public_bytes(Encoding.PEM) + key)
    return path


@pytest.fixture
def secure_url(issuer: TestIssuer, certificate: Path) -> Iterator[str]:
    """The issuer's keys over TLS."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(issuer.jwks())(self)

        def log_message(self, format: str, *arguments: object) -> None:
            """Says nothing."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A refused handshake is what the tests are about."""

    with Server(("127.0.0.1", 0), Handler) as running:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        running.socket = context.wrap_socket(running.socket, server_side=True)
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield f"https://127.0.0.1:{running.server_address[1]}/certs"
        running.shutdown()


def test_a_source_with_an_untrusted_certificate_is_unavailable(secure_url: str, clock: Clock) -> None:
    assert outcome(cache(secure_url, clock), "rsa-1") == UNAVAILABLE


def test_a_source_with_a_trusted_certificate_is_read(
    secure_url: str, certificate: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert outcome(cache(secure_url, clock), "rsa-1") == "found"


def test_a_certificate_for_another_host_is_refused(
    secure_url: str, certificate: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    other = secure_url.replace("127.0.0.1", "localhost")
    assert outcome(cache(other, clock), "rsa-1") == UNAVAILABLE


@pytest.mark.slow
def test_a_handshake_that_never_ends_is_cut_off_at_the_deadline(clock: Clock) -> None:
    closing = threading.Event()

    def dribble(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"\x16\x03\x03\x40\x00")
            while not closing.wait(0.05):
                connection.sendall(b"\x02")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=dribble, args=(listening,), daemon=True).start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/certs"
        began = time.monotonic()
        assert outcome(cache(url, clock, deadline=DEADLINE), "rsa-1") == UNAVAILABLE
        assert time.monotonic() - began < DEADLINE + SLACK
        assert eventually(no_fetch_runs)
        closing.set()
