"""A revocation holds from the next request, whichever service received it and whichever is asked next.

The ways other than a grant run a fifth of the rounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from extent import amount
from load.peers import Peers, peers_of
from service import ADMIN, Maker, arrange

from secretsvc.kernel.clock import now_ms

pytestmark = pytest.mark.long

ROUNDS = amount(100, 5_000)
ADA = "ada@example.com"
BASES = ("/projects/shop/environments/prod", "/p/shop/e/prod")
SCOPES: tuple[dict[str, str], ...] = (
    {"scope_type": "global"},
    {"scope_type": "project", "project": "shop"},
    {"scope_type": "environment", "project": "shop", "environment": "prod"},
)
LIFE_MS = 40


class Office:
    """The administrator's side: each change goes to one service or the other, in turn."""

    def __init__(self, peers: Peers) -> None:
        self.peers, self.ada = peers, str(peers.service.identity_id(ADA))
        self.turn = 0
        self._numbers = itertools.count()

    def change(self, status: int, method: str, path: str, body: Any = None) -> Any:
        reply = self.peers.expect(status, self.turn % 2, ADMIN, method, path, body)
        return reply.json if reply.body else None

    def terms(self, **more: Any) -> dict[str, Any]:
        return {"role": "reader", **SCOPES[self.turn % len(SCOPES)], **more}

    def grant(self, **more: Any) -> str:
        return self.change(201, "POST", "/grants", self.terms(identity_id=self.ada, **more))["id"]

    def group(self) -> str:
        slug = f"group-{next(self._numbers)}"
        return self.change(201, "POST", "/groups", {"slug": slug, "name": slug})["id"]

    def group_of_ada(self) -> tuple[str, str]:
        """A group with her in it that may read: its id, and its grant's."""
        group_id = self.group()
        self.change(201, "POST", f"/groups/{group_id}/members", {"identity_id": self.ada})
        return group_id, self.change(201, "POST", f"/groups/{group_id}/grants", self.terms())["id"]


Revoke = Callable[[], None]


def a_grant(office: Office) -> Revoke:
    grant_id = office.grant()
    return lambda: office.change(204, "DELETE", f"/grants/{grant_id}")


def a_grant_of_a_group(office: Office) -> Revoke:
    group_id, grant_id = office.group_of_ada()
    return lambda: office.change(204, "DELETE", f"/groups/{group_id}/grants/{grant_id}")


def a_membership(office: Office) -> Revoke:
    group_id, _ = office.group_of_ada()
    return lambda: office.change(204, "DELETE", f"/groups/{group_id}/members/{office.ada}")


def a_group(office: Office) -> Revoke:
    group_id, _ = office.group_of_ada()
    return lambda: office.change(204, "DELETE", f"/groups/{group_id}")


def an_identity_by_disabling_it(office: Office) -> Revoke:
    # Enabled again, she has what she had.
    office.change(200, "PATCH", f"/identities/{office.ada}", {"disabled": False})
    if office.turn < len(SCOPES):
        office.grant()
    return lambda: office.change(200, "PATCH", f"/identities/{office.ada}", {"disabled": True})


@pytest.fixture
def peers(make_service: Maker, tmp_path: Path) -> Iterator[Peers]:
    service = make_service()
    arrange(service).post(f"{BASES[0]}/secrets:batch", {"mode": "merge", "set": {"KEY": "value"}})
    with peers_of(service, tmp_path) as made:
        yield made


def read(peers: Peers, turn: int, index: int) -> tuple[int, str | None]:
    reply = peers.request(index, ADA, "GET", f"{BASES[turn % 2]}/secrets/KEY")
    return reply.status, reply.code


@pytest.mark.parametrize(
    "way",
    [a_grant, a_grant_of_a_group, a_membership, a_group, an_identity_by_disabling_it],
    ids=lambda way: way.__name__,
)
def test_who_lost_a_right_is_refused_from_the_next_request(
    peers: Peers, way: Callable[[Office], Revoke]
) -> None:
    office = Office(peers)
    for turn in range(ROUNDS if way is a_grant else max(3, ROUNDS // 5)):
        office.turn = turn
        revoke = way(office)
        # The order differs, so that each is asked first after a change that the other received.
        order = (0, 1) if turn % 4 < 2 else (1, 0)
        assert [read(peers, turn, index)[0] for index in order] == [200, 200]
        office.turn = turn + 1
        revoke()
        assert [read(peers, turn, index) for index in order] == [(404, "NOT_FOUND")] * 2, (turn, order)


def test_a_grant_confers_nothing_from_the_moment_it_expires(peers: Peers) -> None:
    office, seen, life = Office(peers), 0, LIFE_MS
    for turn in range(max(3, ROUNDS // 5)):
        office.turn = turn
        # A slow machine gets as long as it needs to see one that has not ended.
        life = life if seen or not turn else 2 * life
        expires_at = now_ms() + life
        office.grant(expires_at=expires_at)
        while now_ms() < expires_at:
            status, _ = read(peers, turn, turn % 2)
            # An answer that came later may be of either kind.
            if now_ms() < expires_at:
                assert status == 200
                seen += 1
        assert [read(peers, turn, index) for index in (0, 1)] == [(404, "NOT_FOUND")] * 2
        _take_all(office)
    assert seen, "no grant lived long enough to be seen"


def test_a_grant_that_has_expired_already_confers_nothing(peers: Peers) -> None:
    office = Office(peers)
    for turn in range(len(SCOPES)):
        office.turn = turn
        for expires_at in (0, now_ms() - 1, now_ms()):
            office.grant(expires_at=expires_at)
            assert [read(peers, turn, index) for index in (0, 1)] == [(404, "NOT_FOUND")] * 2
            _take_all(office)


def _take_all(office: Office) -> None:
    """The same grant cannot be made twice."""
    for one in office.change(200, "GET", "/grants")["items"]:
        if one["identity_id"] == office.ada:
            office.change(204, "DELETE", f"/grants/{one['id']}")
