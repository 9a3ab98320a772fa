"""`--fallback` stands in for a service that cannot be reached, and for nothing else."""

from __future__ import annotations

import base64
import errno
import json
import os
import pty
import sys
import time
import tty
from types import SimpleNamespace

import pytest
from failing import CASES, GOOD, LONG
from hostile import Hostile, closed_port, refused, secrets
from tls import authority

KEY = base64.b64encode(bytes(range(32))).decode()
STATE = {"API_KEY": "canary-value", "OTHER": "x"}


@pytest.fixture
def sealed(ask, at, home):
    """Runs with the fallback at `sealed.path`."""
    path = home / "secrets.sealed"

    def run(server, *flags, patience=LONG, **variables):
        given = at(server, **{"SECRETSVC_FALLBACK_KEY": KEY, **variables})
        return ask("run", "--timeout", str(patience), "--fallback", str(path), *flags, "--", "true", **given)

    run.path = path
    return run


def first_good(script):
    """A server that answers well once, then by the script."""
    return Hostile(secrets(STATE), script)


def test_the_last_good_state_is_kept_encrypted_and_private(sealed):
    with Hostile(secrets(STATE)) as server:
        assert sealed(server).started
    kept = sealed.path.read_bytes()
    assert sealed.path.stat().st_mode & 0o777 == 0o600
    assert b"canary" not in kept
    assert b"API_KEY" not in kept


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_only_a_service_that_cannot_be_reached_is_stood_in_for(sealed, case):
    with Hostile(GOOD) as other, first_good(case.script(other.url)) as server:
        assert sealed(server).started
        done = sealed(server, patience=case.patience)
    assert other.requests == []
    if case.code == 3:
        assert done.started[2][b"API_KEY"] == b"canary-value"
        assert "THE SERVICE CANNOT BE REACHED" in done.err
        assert "REVISION 1" in done.err
    else:
        assert (done.code, done.reason, done.started) == (125, case.code, None)
    assert sealed.path.exists() is not case.ends_access
    assert "canary" not in done.err


@pytest.mark.parametrize("case", [case for case in CASES if case.code == 3], ids=lambda case: case.name)
def test_without_a_kept_state_nothing_is_started(sealed, case):
    with Hostile(case.script("")) as server:
        done = sealed(server, patience=case.patience)
    assert (done.code, done.reason, done.started) == (125, 3, None)
    assert not sealed.path.exists()


def test_a_stopped_service_is_stood_in_for(sealed):
    with Hostile(secrets(STATE)) as server:
        sealed(server)
    assert sealed(server).started


def test_a_certificate_that_does_not_fit_is_never_stood_in_for(sealed, tmp_path):
    certificate = authority(tmp_path, "server")
    with Hostile(secrets(STATE), certificate=certificate) as server:
        assert sealed(server, SSL_CERT_FILE=str(certificate)).started
        done = sealed(server)
    assert (done.code, done.reason, done.started) == (125, 4, None)
    assert sealed.path.exists()


@pytest.mark.parametrize(
    "variables",
    [
        {"SECRETSVC_PROJECT": "other"},
        {"SECRETSVC_ENVIRONMENT": "dev"},
        {"SECRETSVC_FALLBACK_KEY": base64.b64encode(bytes(32)).decode()},
        {"SECRETSVC_URL": f"http://127.0.0.1:{closed_port()}"},
    ],
    ids=["project", "environment", "key", "url"],
)
def test_the_state_of_another_place_or_key_is_not_used(sealed, variables):
    with Hostile(secrets(STATE)) as server:
        sealed(server)
    done = sealed(server, **variables)
    assert (done.code, done.reason, done.started) == (125, 3, None)
    assert "not used" in done.err


@pytest.mark.parametrize("position", [0, 25, 40, -1])
def test_a_damaged_state_is_not_used(sealed, position):
    with Hostile(secrets(STATE)) as server:
        sealed(server)
    kept = bytearray(sealed.path.read_bytes())
    kept[position] ^= 1
    sealed.path.write_bytes(kept)
    assert sealed(server).started is None
    sealed.path.write_bytes(kept[:10])
    assert sealed(server).started is None


@pytest.mark.parametrize(("hours", "is_used"), [(23.9, True), (24.1, False), (-1, False)])
def test_a_state_that_is_too_old_or_of_the_future_is_not_used(sealed, monkeypatch, hours, is_used):
    with Hostile(secrets(STATE)) as server:
        sealed(server)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + hours * 3600)
    done = sealed(server)
    assert (done.started is not None) is is_used
    assert done.reason == (None if is_used else 3)
    assert sealed(server, "--fallback-age", "48").started or hours < 0


def test_what_was_not_asked_for_is_kept_but_not_given(sealed):
    with first_good(b"") as server:
        sealed(server, "--only", "OTHER")
        done = sealed(server, "--only", "API_KEY")
        missing = sealed(server, "--only", "ABSENT")
    assert b"OTHER" not in done.started[2]
    assert (missing.reason, missing.started) == (4, None)


def test_a_state_that_cannot_be_carried_does_not_replace_the_last_good_one(sealed):
    with Hostile(secrets(STATE), secrets({"A": "\0"}), b"") as server:
        sealed(server)
        assert sealed(server).reason == 6
        assert sealed(server).started[2][b"API_KEY"] == b"canary-value"


@pytest.mark.parametrize(
    "key", ["", "short", "!!!", base64.b64encode(bytes(31)).decode()], ids=["empty", "short", "no", "31"]
)
def test_a_key_that_is_none_is_wrong_use(sealed, key):
    with Hostile(secrets(STATE)) as server:
        done = sealed(server, SECRETSVC_FALLBACK_KEY=key)
    assert (done.code, done.reason, server.requests) == (125, 2, [])


def test_without_a_key_and_a_keyring_it_is_wrong_use(ask, at, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with Hostile(secrets(STATE)) as server:
        done = ask("run", "--fallback", str(home / "f"), "--", "true", **at(server))
    assert (done.code, done.reason, server.requests) == (125, 2, [])
    assert "SECRETSVC_FALLBACK_KEY" in done.err


def test_the_systems_keyring_keeps_a_key_where_the_variable_has_none(ask, at, home, monkeypatch):
    kept = {}
    keyring = SimpleNamespace(
        get_password=lambda *name: kept.get(name),
        set_password=lambda one, name, key: kept.update({(one, name): key}),
    )
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    with first_good(b"") as server:
        for _ in range(2):
            assert ask("run", "--fallback", str(home / "f"), "--", "true", **at(server)).started
    assert len(kept) == 1


def test_without_cryptography_the_option_is_refused_by_name(sealed, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with Hostile(secrets(STATE)) as server:
        done = sealed(server)
    assert (done.code, done.reason, server.requests) == (125, 2, [])
    assert "--fallback needs the package cryptography" in done.err


def test_a_disk_that_fails_stops_nothing(ask, at, home):
    with Hostile(secrets(STATE)) as server:
        given = at(server, SECRETSVC_FALLBACK_KEY=KEY)
        done = ask("run", "--fallback", str(home / "absent" / "file"), "--", "true", **given)
    assert done.started
    assert "the fallback was not kept" in done.err


def test_a_credential_that_cannot_be_had_is_no_failure_of_the_service(sealed, home):
    with Hostile(secrets(STATE)) as server:
        sealed(server)
    given = {"SECRETSVC_TOKEN": "", "SECRETSVC_TOKEN_FILE": str(home / "absent")}
    done = sealed(server, **given)
    assert (done.code, done.reason, done.started) == (125, 1, None)


def test_the_reason_of_a_denial_reaches_whoever_asks(sealed):
    with first_good(refused(404, "NOT_FOUND", "Nothing there.")) as server:
        sealed(server)
        done = sealed(server, "--json")
    assert json.loads(done.err)["error"]["message"] == "404 Nothing there."


def test_a_link_is_followed_when_the_state_is_kept_used_and_removed(sealed, home):
    (home / "data").mkdir()
    sealed.path.symlink_to("data/sealed")
    with Hostile(secrets(STATE)) as server:
        assert sealed(server, "--mode", "640").started
        assert (home / "data" / "sealed").stat().st_mode & 0o777 == 0o640
        server.script[:] = [b""]
        assert sealed(server).started
        server.script[:] = [refused(403, "FORBIDDEN")]
        assert sealed(server).started is None
    assert sealed.path.is_symlink()
    assert not (home / "data" / "sealed").exists()


def test_a_file_that_cannot_be_removed_is_emptied(sealed, monkeypatch):
    with first_good(refused(403, "FORBIDDEN")) as server:
        assert sealed(server).started

        def busy(path):
            raise OSError(errno.EBUSY, "Device or resource busy")

        monkeypatch.setattr("secretsvc_client.fallback.os.unlink", busy)
        assert sealed(server).reason == 4
    assert sealed.path.read_bytes() == b""


def test_a_device_is_no_state_and_stays(sealed):
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    sealed.path.symlink_to(os.ttyname(theirs))
    with Hostile(secrets(STATE)) as server:
        assert sealed(server).started
        assert os.read(ours, 20).startswith(b"secretsvc-fallback")
        server.script[:] = [b""]
        assert sealed(server).started is None
        server.script[:] = [refused(403, "FORBIDDEN")]
        assert sealed(server).started is None
    assert os.path.exists(os.ttyname(theirs))
    os.close(ours)
    os.close(theirs)
