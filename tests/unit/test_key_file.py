"""The last good set of keys on file: a restart while the key source is away lets people in."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest
from jwks_server import KeyServer, answer
from key_cache import Clock, cache, outcome
from tokens import TestIssuer
from waiting import eventually

from secretsvc.authentication import jwks

FAILING = answer(b"", 500)


@pytest.fixture
def server(issuer: TestIssuer):
    with KeyServer(issuer.jwks("rsa-1", "ec-1")) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept_at(tmp_path: Path, server: KeyServer) -> Path:
    """The file that a process has left, whose source is away since."""
    path = tmp_path / "keys.json"
    assert outcome(cache(server.url, Clock(), cache_file=path), "rsa-1") == "found"
    assert eventually(path.exists)
    server.answer = FAILING
    return path


def change(path: Path, **members: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def test_a_restart_during_an_outage_knows_the_keys(server, clock, kept_at):
    keys = cache(server.url, clock, cache_file=kept_at)
    assert outcome(keys, "rsa-1") == outcome(keys, "ec-1", "ES256") == "found"
    assert keys.age is not None
    assert outcome(keys, "unknown") == "IDENTITY_PROVIDER_UNAVAILABLE"


def test_it_is_its_owners_alone_and_holds_public_members_and_the_time(server, kept_at):
    found = json.loads(kept_at.read_text())
    assert stat.S_IMODE(kept_at.stat().st_mode) == 0o600
    assert abs(found["seen_at"] - time.time()) < 300
    assert found["url"] == server.url
    assert {tuple(sorted(one)) for one in found["jwks"]["keys"]} == {
        ("alg", "e", "kid", "kty", "n"),
        ("alg", "crv", "kid", "kty", "x", "y"),
    }
    assert [*kept_at.parent.glob("keys.json*")] == [kept_at]


def test_the_age_in_it_goes_on(server, clock, kept_at):
    change(kept_at, seen_at=time.time() - jwks.HARD_LIFE + 600)
    keys = cache(server.url, clock, cache_file=kept_at)
    assert outcome(keys, "rsa-1") == "found"
    clock.advance(600)
    assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize(
    "members",
    [
        {"seen_at": 0},
        {"seen_at": time.time() + 86_400},
        {"seen_at": "now"},
        {"url": "https://elsewhere.example.com/certs"},
        {"jwks": {"keys": []}},
        {"jwks": None},
    ],
    ids=["too old", "of tomorrow", "no time", "of another source", "empty", "no keys"],
)
def test_one_that_is_of_no_use_is_as_none(server, clock, kept_at, members):
    change(kept_at, **members)
    assert outcome(cache(server.url, clock, cache_file=kept_at), "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_damaged_one_is_as_none(server, clock, kept_at, content):
    kept_at.write_bytes(content)
    assert outcome(cache(server.url, clock, cache_file=kept_at), "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_one_that_others_may_write_to_is_not_believed(server, clock, kept_at, mode, caplog):
    kept_at.chmod(mode)
    assert outcome(cache(server.url, clock, cache_file=kept_at), "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
    assert "the file of ACCESS_JWKS_CACHE is not used: " in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_one_of_another_user_is_not_believed(server, clock, kept_at):
    os.chown(kept_at, 12_345, 12_345)
    assert outcome(cache(server.url, clock, cache_file=kept_at), "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"


def test_it_is_asked_anew_at_the_start_and_a_withdrawn_key_goes(issuer, server, clock, kept_at):
    server.serve(issuer.jwks("ec-1"))
    keys = cache(server.url, clock, cache_file=kept_at)
    keys.prepare()
    assert eventually(lambda: outcome(keys, "rsa-1") == "UNAUTHENTICATED")
    assert eventually(lambda: len(json.loads(kept_at.read_text())["jwks"]["keys"]) == 1)


def test_a_folder_that_is_not_there_changes_nothing(server, clock, tmp_path):
    keys = cache(server.url, clock, cache_file=tmp_path / "missing" / "keys.json")
    assert outcome(keys, "rsa-1") == "found"


def test_a_source_on_file_needs_none(issuer, clock, tmp_path):
    keys = cache(issuer.jwks_url, clock, cache_file=tmp_path / "keys.json")
    assert outcome(keys, "rsa-1") == "found"
    assert [*tmp_path.glob("keys*")] == []
