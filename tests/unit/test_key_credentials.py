"""What a fetch of keys proves and asks for proof of: an authority of its own, and a token (contract 6.3)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from jwks_server import Answer, KeyServer, answer
from key_cache import COOLDOWN, Clock, cache, outcome
from tls import TlsKeyServer, authority
from tokens import TestIssuer

from secretsvc.authentication.jwks_source import Credentials

CANARY = "canary.4711-token"


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    return authority(tmp_path, "trusted")


@pytest.fixture
def cluster(issuer: TestIssuer, trusted: Path) -> Iterator[TlsKeyServer]:
    with TlsKeyServer(issuer.jwks("rsa-1"), trusted) as server:
        yield server


def test_a_cluster_with_an_authority_of_its_own_is_trusted_by_its_file_alone(
    cluster: TlsKeyServer, clock: Clock, trusted: Path, tmp_path: Path
) -> None:
    assert outcome(cache(cluster.url, clock, credentials=Credentials(ca_file=trusted)), "rsa-1") == "found"
    unavailable = "IDENTITY_PROVIDER_UNAVAILABLE"
    assert outcome(cache(cluster.url, clock), "rsa-1") == unavailable
    other = Credentials(ca_file=authority(tmp_path, "other"))
    assert outcome(cache(cluster.url, clock, credentials=other), "rsa-1") == unavailable


def test_the_certificate_must_be_for_the_host_that_is_asked(
    cluster: TlsKeyServer, clock: Clock, trusted: Path
) -> None:
    keys = cache(
        cluster.url.replace("127.0.0.1", "localhost"), clock, credentials=Credentials(ca_file=trusted)
    )
    assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (answer(b"<html>Sign in</html>"), "JSONDecodeError"),
        (answer(b"", 302, Location="/login"), "HTTPError 302"),
        (answer(b"", 404), "HTTPError 404"),
    ],
)
def test_the_log_says_what_came_instead_of_keys(
    server: KeyServer, clock: Clock, sent: Answer, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = sent
    assert outcome(cache(server.url, clock), "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
    # Other tests' caches may be at a refresh of their own.
    assert f"the access proxy's keys could not be fetched: {why}" in map(str.strip, caplog.messages)


def test_the_log_says_why_nothing_came(
    cluster: TlsKeyServer,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unknown(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror

    def reasons(url: str) -> set[str]:
        # A set, because other tests' caches may be at a refresh of their own.
        caplog.clear()
        outcome(cache(url, clock), "rsa-1")
        return {message.split()[-1] for message in caplog.messages}

    assert "SSLCertVerificationError" in reasons(cluster.url)
    assert "ConnectionRefusedError" in reasons("http://127.0.0.1:1/keys")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "gaierror" in reasons(cluster.url)


def test_the_token_in_the_file_is_sent_as_a_bearer_token(
    server: KeyServer, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(f"{CANARY}\n")
    assert outcome(cache(server.url, clock, credentials=Credentials(token_file=path)), "rsa-1") == "found"
    assert server.requests[-1]["Authorization"] == f"Bearer {CANARY}"
    assert outcome(cache(server.url, clock), "rsa-1") == "found"
    assert "Authorization" not in server.requests[-1]


def test_the_files_are_read_at_each_fetch(
    issuer: TestIssuer, server: KeyServer, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    keys = cache(server.url, clock, credentials=Credentials(token_file=path))
    assert outcome(keys, "rsa-1") == "found"
    path.write_text("second")
    issuer.add_rsa("rsa-2")
    server.serve(issuer.jwks("rsa-1", "rsa-2"))
    assert outcome(keys, "rsa-2") == "found"
    assert [one["Authorization"] for one in server.requests] == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize(
    "content", ["", "\n", "two words", "a\nb", "x\r\nEvil: y", "é", "a" * 20_000, None], ids=repr
)
def test_what_is_no_token_is_a_misconfiguration_and_is_not_sent(
    server: KeyServer, clock: Clock, tmp_path: Path, content: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    keys = cache(server.url, clock, credentials=Credentials(token_file=path))
    assert outcome(keys, "rsa-1") == "SERVER_MISCONFIGURED"
    assert server.hits == 0
    assert "the access proxy's keys could not be fetched: UnreadableFile TOKEN_FILE" in caplog.messages


@pytest.mark.parametrize("content", ["", "no certificate", None])
def test_what_is_no_authority_is_a_misconfiguration(
    server: KeyServer, clock: Clock, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "authority"
    if content is not None:
        path.write_text(content)
    keys = cache(server.url, clock, credentials=Credentials(ca_file=path))
    assert outcome(keys, "rsa-1") == "SERVER_MISCONFIGURED"
    assert server.hits == 0


def test_known_keys_go_on_while_a_file_is_missing_and_unknown_ones_are_our_fault(
    issuer: TestIssuer, server: KeyServer, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    keys = cache(server.url, clock, credentials=Credentials(token_file=path))
    assert outcome(keys, "rsa-1") == "found"
    path.unlink()
    assert outcome(keys, "rsa-2") == "SERVER_MISCONFIGURED"
    assert outcome(keys, "rsa-1") == "found"
    path.write_text("second")
    clock.advance(COOLDOWN)
    server.serve(issuer.jwks("rsa-1"))
    assert outcome(keys, "rsa-2") == "UNAUTHENTICATED"


def test_the_token_does_not_follow_a_redirect(
    issuer: TestIssuer, server: KeyServer, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(CANARY)
    with KeyServer(issuer.jwks("rsa-1")) as elsewhere:
        server.answer = answer(b"", 302, Location=elsewhere.url)
        keys = cache(server.url, clock, credentials=Credentials(token_file=path))
        assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
        assert elsewhere.hits == 0


def test_no_file_is_shown_by_what_names_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "token"
    path.write_text(CANARY)
    assert CANARY not in repr(Credentials(token_file=path)) + caplog.text
