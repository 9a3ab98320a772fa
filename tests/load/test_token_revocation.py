"""What ends a machine's access holds from the next request, whichever service received it (contract 6.4)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from extent import amount
from load.peers import Peers, peers_of
from service import ADMIN, Maker, arrange
from tokens import TestIssuer

from secretsvc.kernel.clock import now_ms

pytestmark = pytest.mark.long

ROUNDS = amount(100, 5_000)
VALUE = "/projects/shop/environments/prod/secrets/KEY"
LIFE_MS = 120
#: Seconds between two reads with it: to ask without one tells no more.
PAUSE = 0.01
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def ci(tmp_path_factory: pytest.TempPathFactory) -> TestIssuer:
    return TestIssuer(tmp_path_factory.mktemp("ci"), "https://ci.example.com", "secrets")


@pytest.fixture
def peers(make_service: Maker, tmp_path: Path, ci: TestIssuer) -> Iterator[Peers]:
    entry = ci.workload_environment("ci")
    dotted = {name.replace("WORKLOAD_CI_", "WORKLOAD.CI."): value for name, value in entry.items()}
    common = {"SERVICE_TOKENS": "on", "WORKLOAD_ISSUERS": "ci"}
    service = make_service(**common, **dotted)
    admin = arrange(service)
    admin.post(VALUE.replace("/KEY", ":batch"), {"mode": "merge", "set": {"KEY": "value"}})
    for subject in ("deploy.robot", "ci:job-1"):
        service.grant(service.identity_id(subject, "service"), "reader", "shop/prod")
    with peers_of(service, tmp_path, **common, **entry) as made:
        yield made


def robot(peers: Peers) -> str:
    return f"/identities/{peers.service.identity_id('deploy.robot', 'service')}"


def token_made(peers: Peers, index: int) -> dict[str, Any]:
    body = {"name": "ci", "expires_at": now_ms() + DAY_MS}
    return peers.expect(201, index, ADMIN, "POST", f"{robot(peers)}/tokens", body).json


def short_lived(peers: Peers, index: int, life: int) -> tuple[str, int]:
    """A token and its end; a slow machine gets as long as it needs to make one that has not ended yet."""
    while True:
        expires_at = now_ms() + life
        body = {"name": "ci", "expires_at": expires_at}
        reply = peers.request(index, ADMIN, "POST", f"{robot(peers)}/tokens", body)
        if reply.status == 201:
            return reply.json["token"], expires_at
        assert (reply.status, now_ms() >= expires_at) == (422, True), reply
        life *= 2


def reads(peers: Peers, token: str, turn: int) -> list[int]:
    """The statuses at both, the one first that did not receive the change, or the other."""
    order = (0, 1) if turn % 4 < 2 else (1, 0)
    return [peers.bearing(index, token, "GET", VALUE).status for index in order]


def test_a_removed_token_is_refused_from_the_next_request(peers: Peers) -> None:
    for turn in range(ROUNDS):
        made = token_made(peers, turn % 2)
        assert reads(peers, made["token"], turn) == [200, 200], turn
        path = f"{robot(peers)}/tokens/{made['id']}"
        peers.expect(204, (turn + 1) % 2, ADMIN, "DELETE", path)
        assert reads(peers, made["token"], turn) == [401, 401], turn


def test_a_token_is_refused_from_the_moment_it_expires(peers: Peers) -> None:
    seen, life = 0, LIFE_MS
    for turn in range(ROUNDS):
        life = life if seen or not turn else 2 * life
        token, expires_at = short_lived(peers, turn % 2, life)
        while now_ms() < expires_at:
            status = peers.bearing(turn % 2, token, "GET", VALUE).status
            # An answer that came later may be of either kind.
            if now_ms() < expires_at:
                assert status == 200
                seen += 1
            time.sleep(PAUSE)
        assert reads(peers, token, turn) == [401, 401]
    assert seen, "no token lived long enough to be seen"


def test_a_disabled_identitys_token_may_nothing_from_the_next_request(peers: Peers) -> None:
    token = token_made(peers, 0)["token"]
    for turn in range(ROUNDS):
        peers.expect(200, turn % 2, ADMIN, "PATCH", robot(peers), {"disabled": False})
        assert reads(peers, token, turn) == [200, 200]
        peers.expect(200, (turn + 1) % 2, ADMIN, "PATCH", robot(peers), {"disabled": True})
        assert reads(peers, token, turn) == [404, 404]
        found = peers.bearing(turn % 2, token, "GET", "/whoami")
        assert (found.status, found.json["identity"]["disabled"]) == (200, True)


def test_a_machine_that_lost_its_grant_is_refused_from_the_next_request(peers: Peers, ci: TestIssuer) -> None:
    token, who = ci.workload(), str(peers.service.identity_id("ci:job-1", "service"))
    scope = {"scope_type": "environment", "project": "shop", "environment": "prod", "role": "reader"}
    for turn in range(ROUNDS):
        (mine,) = [
            one
            for one in peers.expect(200, 0, ADMIN, "GET", "/grants").json["items"]
            if one["identity_id"] == who
        ]
        assert reads(peers, token, turn) == [200, 200]
        peers.expect(204, turn % 2, ADMIN, "DELETE", f"/grants/{mine['id']}")
        assert reads(peers, token, turn) == [404, 404]
        peers.expect(201, (turn + 1) % 2, ADMIN, "POST", "/grants", {**scope, "identity_id": who})
