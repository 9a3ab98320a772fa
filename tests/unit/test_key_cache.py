"""Known keys are at hand at once; the source is asked seldom, and its changes are noticed."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from jwks_server import Answer, KeyServer, answer, slow
from key_cache import COOLDOWN, Clock, cache, outcome
from tokens import TestIssuer
from waiting import PATIENCE, eventually

from secretsvc.authentication import jwks
from secretsvc.kernel.errors import IdentityProviderUnavailable

DAY = 86_400
FAILING = answer(b"", 500)


def held(release: threading.Event, body: bytes) -> Answer:
    """An answer that comes once it is released."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        release.wait(PATIENCE)
        answer(body)(handler)

    return send


# Look-ups.


def test_a_key_is_parsed_once_and_handed_out_as_it_is(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    assert keys.find("rsa-1", "RS256") is keys.find("rsa-1", "RS256")
    assert server.hits == 1


def test_a_known_kid_with_another_algorithm_is_refused_without_a_fetch(
    server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    assert outcome(keys, "rsa-1") == "found"
    assert outcome(keys, "rsa-1", "ES256") == "UNAUTHENTICATED"
    assert outcome(keys, "rsa-1", "PS256") == "UNAUTHENTICATED"
    assert server.hits == 1


def test_the_source_is_told_who_asks_and_for_what(server: KeyServer, clock: Clock) -> None:
    cache(server.url, clock).find("rsa-1", "RS256")
    assert server.requests[0]["User-Agent"] == "secretsvc"
    assert "application/json" in server.requests[0]["Accept"]


def test_a_first_burst_causes_one_fetch_and_all_wait_for_it(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    server.answer = slow(0.4, issuer.jwks("rsa-1"))
    keys = cache(server.url, clock)
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: outcome(keys, "rsa-1"), range(16))) == {"found"}
    assert server.hits == 1


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for the fetch of another waits to its end, which is late on a busy machine."""
    monkeypatch.setattr(jwks, "FOLLOWER_WAIT", PATIENCE)


@pytest.mark.usefixtures("patient")
def test_known_kids_never_wait_for_a_fetch_under_way(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    release = threading.Event()
    server.answer = held(release, b"")
    clock.advance(jwks.SOFT_LIFE)
    asking = threading.Thread(target=outcome, args=(keys, "unknown"))
    asking.start()
    assert eventually(lambda: server.hits == 2)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: outcome(keys, "rsa-1"), range(1_000))) == {"found"}
    assert asking.is_alive()
    release.set()
    asking.join()


def test_a_hanging_source_holds_up_only_the_request_that_asked_it(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    release = threading.Event()
    server.answer = held(release, b"")
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(outcome, keys, "unknown")
        assert eventually(lambda: server.hits == 2)
        assert set(pool.map(lambda n: outcome(keys, f"unknown-{n}"), range(40))) == {
            "IDENTITY_PROVIDER_UNAVAILABLE"
        }
        assert not first.done()
        release.set()
        assert first.result() == "IDENTITY_PROVIDER_UNAVAILABLE"
    assert server.hits == 2


# Rotation, cool-down and age.


def test_an_unknown_kid_is_refetched_once_in_a_cool_down(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    assert outcome(keys, "unknown") == "UNAUTHENTICATED"
    server.serve(issuer.jwks("rsa-1", "ec-1"))
    clock.advance(COOLDOWN - 1)
    assert outcome(keys, "ec-1", "ES256") == "UNAUTHENTICATED"
    assert server.hits == 2
    clock.advance(1)
    assert outcome(keys, "ec-1", "ES256") == "found"
    assert server.hits == 3


def test_the_first_load_does_not_put_off_a_rotated_keys_first_use(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    server.serve(issuer.jwks("ec-1"))
    assert outcome(keys, "ec-1", "ES256") == "found"
    assert outcome(keys, "rsa-1") == "UNAUTHENTICATED"
    assert server.hits == 2


def test_failed_attempts_count_for_the_cool_down(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    server.answer = FAILING
    for _ in range(3):
        assert outcome(keys, "unknown") == "IDENTITY_PROVIDER_UNAVAILABLE"
        clock.advance(COOLDOWN / 3)
    assert server.hits == 2
    outcome(keys, "unknown")
    assert server.hits == 3


def test_before_the_first_success_there_is_a_pause_and_no_cool_down(server: KeyServer, clock: Clock) -> None:
    good, server.answer = server.answer, FAILING
    keys = cache(server.url, clock)
    for _ in range(3):
        assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
    assert server.hits == 1
    server.answer = good
    clock.advance(jwks.FIRST_PAUSE)
    assert outcome(keys, "rsa-1") == "found"


@pytest.mark.parametrize(("warm", "seconds"), [(True, COOLDOWN), (False, 1)])
def test_whoever_comes_too_early_is_told_when_to_come_again(
    server: KeyServer, clock: Clock, warm: bool, seconds: int
) -> None:
    keys = cache(server.url, clock)
    if warm:
        keys.find("rsa-1", "RS256")
    server.answer = FAILING
    for passed in (0.0, 0.5, 0.3):
        clock.advance(passed)
        with pytest.raises(IdentityProviderUnavailable) as refused:
            keys.find("unknown", "RS256")
        assert refused.value.retry_after == seconds


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("state", ["up", "down"])
@pytest.mark.parametrize("warm", [True, False])
def test_a_storm_of_unknown_kids_causes_one_fetch_in_a_cool_down(
    server: KeyServer, clock: Clock, state: str, warm: bool
) -> None:
    keys = cache(server.url, clock)
    if warm:
        keys.find("rsa-1", "RS256")
    if state == "down":
        server.answer = FAILING
    before, began = server.hits, clock.now

    def ask(number: int) -> str:
        if number % 100 == 0:
            clock.advance(1)
        return outcome(keys, f"unknown-{number % 200}")

    with ThreadPoolExecutor(16) as pool:
        outcomes = Counter(pool.map(ask, range(1_000)))
    pause = COOLDOWN if warm or state == "up" else jwks.FIRST_PAUSE
    assert server.hits - before <= 1 + (clock.now - began) / pause
    assert outcomes == {"UNAUTHENTICATED" if state == "up" else "IDENTITY_PROVIDER_UNAVAILABLE": 1_000}
    assert outcome(keys, "rsa-1") == ("found" if warm or state == "up" else "IDENTITY_PROVIDER_UNAVAILABLE")


def test_after_five_minutes_the_set_is_refreshed_in_the_background(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    release = threading.Event()
    server.answer = held(release, issuer.jwks("ec-1"))
    clock.advance(jwks.SOFT_LIFE - 1)
    assert outcome(keys, "rsa-1") == "found"
    assert server.hits == 1
    clock.advance(1)
    before = keys._generation
    assert outcome(keys, "rsa-1") == "found"
    release.set()
    assert eventually(lambda: keys.generation != before)
    assert server.hits == 2
    assert outcome(keys, "rsa-1") == "UNAUTHENTICATED"


def test_known_keys_work_for_a_day_of_outage_and_no_longer(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    good, server.answer = server.answer, FAILING
    for _ in range(24):
        assert outcome(keys, "rsa-1") == "found"
        clock.advance(DAY / 24 - 1)
    assert outcome(keys, "rsa-1") == "found"
    assert eventually(lambda: keys._pending is None)
    clock.advance(24)
    assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
    server.answer = good
    clock.advance(COOLDOWN)
    assert outcome(keys, "rsa-1") == "found"


def test_during_an_outage_refreshes_keep_the_cool_down_too(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    server.answer = FAILING
    clock.advance(jwks.SOFT_LIFE)
    for _ in range(100):
        assert outcome(keys, "rsa-1") == "found"
        assert eventually(lambda: keys._pending is None)
    assert server.hits == 2


def test_the_outcome_of_an_attempt_that_was_given_up_changes_nothing(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    release = threading.Event()
    keys = cache(server.url, clock, deadline=0.45 * COOLDOWN)
    keys.find("rsa-1", "RS256")
    good, server.answer = server.answer, held(release, issuer.jwks("ec-1"))
    clock.advance(jwks.SOFT_LIFE)
    keys.find("rsa-1", "RS256")
    assert eventually(lambda: server.hits == 2)
    given_up = keys._pending
    server.answer = good
    clock.advance(COOLDOWN)
    keys.find("rsa-1", "RS256")
    assert eventually(lambda: server.hits == 3 and keys._pending is None)
    release.set()
    assert given_up is not None
    assert given_up.finished.wait(PATIENCE)
    assert outcome(keys, "rsa-1") == "found"


# The generation.


def test_the_generation_changes_with_the_set_and_only_then(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    keys = cache(server.url, clock)
    empty = keys.generation
    key = keys.find("rsa-1", "RS256")
    first = keys.generation
    assert first != empty
    clock.advance(jwks.SOFT_LIFE)
    assert keys.generation == first
    assert eventually(lambda: server.hits == 2 and keys._pending is None)
    assert keys.generation == first
    assert keys.find("rsa-1", "RS256") is key
    server.serve(issuer.jwks("rsa-1", "ec-1"))
    clock.advance(jwks.SOFT_LIFE)
    assert eventually(lambda: keys.generation != first)


def test_the_generation_changes_when_the_keys_are_given_up(server: KeyServer, clock: Clock) -> None:
    keys = cache(server.url, clock)
    keys.find("rsa-1", "RS256")
    first = keys.generation
    clock.advance(DAY)
    assert keys.generation != first


# Keys in a file.


def test_a_changed_file_is_read_at_once(issuer: TestIssuer, clock: Clock) -> None:
    issuer.publish("rsa-1")
    keys = cache(issuer.jwks_url, clock)
    assert outcome(keys, "rsa-1") == "found"
    first = keys.generation
    issuer.publish("ec-1")
    assert keys.generation != first
    assert outcome(keys, "rsa-1") == "UNAUTHENTICATED"
    assert outcome(keys, "ec-1", "ES256") == "found"


def test_a_file_replaced_by_one_of_equal_size_and_time_is_noticed(issuer: TestIssuer, clock: Clock) -> None:
    issuer.add_rsa("rsa-2")
    issuer.publish("rsa-1")
    keys = cache(issuer.jwks_url, clock)
    keys.find("rsa-1", "RS256")
    before = issuer.jwks_path.stat()
    issuer.jwks_path.rename(issuer.jwks_path.with_suffix(".old"))
    issuer.publish("rsa-2")
    os.utime(issuer.jwks_path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = issuer.jwks_path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert outcome(keys, "rsa-1") == "UNAUTHENTICATED"
    assert outcome(keys, "rsa-2") == "found"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"keys":[]}', b"x" * 300_000, None])
def test_a_damaged_or_missing_file_leaves_the_known_keys(
    issuer: TestIssuer, clock: Clock, damage: bytes | None
) -> None:
    keys = cache(issuer.jwks_url, clock)
    keys.find("rsa-1", "RS256")
    if damage is None:
        issuer.jwks_path.unlink()
    else:
        issuer.write(damage)
    assert outcome(keys, "rsa-1") == "found"
    assert outcome(keys, "unknown") == "IDENTITY_PROVIDER_UNAVAILABLE"
    clock.advance(DAY - 1)
    assert outcome(keys, "rsa-1") == "found"
    issuer.publish("ec-1")
    assert outcome(keys, "ec-1", "ES256") == "found"


def test_a_file_that_comes_late_is_read_when_it_comes(issuer: TestIssuer, clock: Clock) -> None:
    document = issuer.jwks_path.read_bytes()
    issuer.jwks_path.unlink()
    keys = cache(issuer.jwks_url, clock)
    assert outcome(keys, "rsa-1") == "IDENTITY_PROVIDER_UNAVAILABLE"
    issuer.write(document)
    assert outcome(keys, "rsa-1") == "found"


def test_a_file_that_stays_as_it_is_outlives_the_day(issuer: TestIssuer, clock: Clock) -> None:
    keys = cache(issuer.jwks_url, clock)
    key = keys.find("rsa-1", "RS256")
    for _ in range(30):
        clock.advance(3_600)
        assert keys.find("rsa-1", "RS256") is key


def test_a_file_url_may_hold_escaped_characters(tmp_path: Path, clock: Clock) -> None:
    directory = tmp_path / "key source é"
    directory.mkdir()
    issuer = TestIssuer(directory)
    assert "%20" in issuer.jwks_url
    assert outcome(cache(issuer.jwks_url, clock), "rsa-1") == "found"


def test_unknown_members_of_the_document_do_not_matter(
    issuer: TestIssuer, server: KeyServer, clock: Clock
) -> None:
    document = {**json.loads(issuer.jwks()), "public_cert": {"kid": "x"}, "public_certs": [1]}
    server.serve(json.dumps(document).encode())
    assert outcome(cache(server.url, clock), "rsa-1") == "found"
