"""The last-admin guard under concurrency: admins who remove each other, every way against every other."""

from __future__ import annotations

import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from extent import amount, sample
from fault_injection import at_once
from load.peers import Peers, Reply, peers_of
from service import Maker, Service
from sqlalchemy import delete, text, update
from waiting import eventually

from secretsvc.db.engine import make_engine, write_transaction
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

pytestmark = pytest.mark.long

ROUNDS = amount(4, 200)
ADA, BOB = "ada@example.com", "bob@example.com"
# Nobody is the last admin where BOOTSTRAP_ADMINS names one; a touch would be a write of its own.
SETTINGS = {"BOOTSTRAP_ADMINS": "", "LAST_SEEN_RESOLUTION": "3600000"}
SETTLE_SECONDS = 0.2


@dataclass(frozen=True)
class Removal:
    """The request that takes an admin's right away."""

    method: str
    path: str
    body: Any = None


def by_grant(service: Service, subject: str) -> Removal:
    return Removal("DELETE", f"/grants/{service.grant(subject, 'admin')}")


def by_group_grant(service: Service, subject: str) -> Removal:
    group_id, grant_id = _through_a_group(service, subject)
    return Removal("DELETE", f"/groups/{group_id}/grants/{grant_id}")


def by_group(service: Service, subject: str) -> Removal:
    return Removal("DELETE", f"/groups/{_through_a_group(service, subject)[0]}")


def by_membership(service: Service, subject: str) -> Removal:
    group_id, _ = _through_a_group(service, subject)
    return Removal("DELETE", f"/groups/{group_id}/members/{service.identity_id(subject)}")


def by_disabling(service: Service, subject: str) -> Removal:
    service.grant(subject, "admin")
    return Removal("PATCH", f"/identities/{service.identity_id(subject)}", {"disabled": True})


def by_lowering(service: Service, subject: str) -> Removal:
    return Removal("PATCH", f"/grants/{service.grant(subject, 'admin')}", {"role": "writer"})


def by_ending(service: Service, subject: str) -> Removal:
    group_id, grant_id = _through_a_group(service, subject)
    return Removal("PATCH", f"/groups/{group_id}/grants/{grant_id}", {"expires_at": 1})


_numbers = itertools.count()


def _through_a_group(service: Service, subject: str) -> tuple[UUID, UUID]:
    group_id = service.group(f"group-{next(_numbers)}", subject)
    return group_id, service.grant(group_id, "admin", group=True)


Way = Callable[[Service, str], Removal]
REMOVALS: tuple[Way, ...] = (by_grant, by_group_grant, by_group, by_membership)
WAYS = (*REMOVALS, by_disabling, by_lowering, by_ending)
PAIRS = list(itertools.combinations_with_replacement(WAYS, 2))
# Nobody holds the same grant twice, and to be disabled leaves no other right.
OWN_PAIRS = [pair for pair in PAIRS if not {*pair} <= {by_grant, by_lowering} and by_disabling not in pair]


def named(way: Way) -> str:
    return way.__name__


@pytest.fixture
def peers(make_service: Maker, tmp_path: Path) -> Iterator[Peers]:
    with peers_of(make_service(**SETTINGS), tmp_path, **SETTINGS) as made:
        yield made


def start_again(service: Service) -> None:
    """Nobody holds anything, and nobody is disabled."""
    for statement in (
        delete(grant),
        delete(group_member),
        delete(group),
        update(identity).values(disabled=False),
    ):
        service.execute(statement)


def usable_admins(service: Service) -> set[UUID]:
    """Who is an admin of everything, told from the bare rows."""
    enabled = {row["id"] for row in service.rows(identity) if not row["disabled"]}
    members = [(row["group_id"], row["identity_id"]) for row in service.rows(group_member)]
    holders: set[UUID] = set()
    endless = grant.c.expires_at.is_(None)
    for row in service.rows(grant, grant.c.scope_type == "global", grant.c.role == "admin", endless):
        holders |= {row["identity_id"]} | {one for group_id, one in members if group_id == row["group_id"]}
    return holders & enabled


def race(peers: Peers, *moves: tuple[str, Removal]) -> list[Reply]:
    """Sends the removals at the same moment, each to a service of its own."""

    def move(index: int) -> Reply:
        subject, removal = moves[index]
        return peers.request(index, subject, removal.method, removal.path, removal.body)

    return at_once(len(moves), move)


@contextmanager
def every_change_held_back(url: str) -> Iterator[Callable[[], None]]:
    """No change can be completed in here; what is yielded waits until two of them are waiting."""
    engine = make_engine(url)
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def both_wait() -> bool:
        # A transaction of its own: one sees the activity as it was when it first looked.
        with engine.connect() as connection:
            return bool(connection.execute(waiting).scalar_one() == 2)

    def release() -> None:
        if engine.name == "sqlite":
            # A writer that waits leaves no trace there.
            time.sleep(SETTLE_SECONDS)
            return
        assert eventually(both_wait), "the changes do not wait for each other"

    try:
        with write_transaction(engine) as connection:
            if engine.name == "postgresql":
                # What a change does last is its record.
                connection.execute(text("LOCK TABLE audit_record IN EXCLUSIVE MODE"))
            yield release
    finally:
        engine.dispose()


def race_to_the_last_step(peers: Peers, *moves: tuple[str, Removal]) -> list[Reply]:
    """As `race`, but nobody is done before both have come as far as they can."""
    replies: list[Reply] = []
    thread = threading.Thread(target=lambda: replies.extend(race(peers, *moves)))
    with every_change_held_back(peers.service.url) as release:
        thread.start()
        release()
    thread.join(60)
    return replies


def assert_one_is_left(peers: Peers, replies: list[Reply], refusals: set[tuple[int, str]]) -> None:
    """One succeeded, the other was refused in one of the ways named, and the winner is admin."""
    won = [index for index, reply in enumerate(replies) if reply.status in (200, 204)]
    assert len(won) == 1, replies
    loser = replies[1 - won[0]]
    assert (loser.status, loser.code) in refusals
    winner = (ADA, BOB)[won[0]]
    assert usable_admins(peers.service) == {peers.service.identity_id(winner)}
    for index in (0, 1):
        found = peers.expect(200, index, winner, "GET", "/whoami").json
        assert found["global_role"] == "admin"


LAST_ADMIN = (409, "LAST_ADMIN")
# The other one was quicker: by then the loser is an admin no more, and is refused.
TOO_LATE = (403, "FORBIDDEN")


@pytest.mark.parametrize(("against_bob", "against_ada"), sample(PAIRS, 20), ids=named)
def test_of_two_admins_who_remove_each_other_at_most_one_succeeds(
    peers: Peers, against_bob: Way, against_ada: Way
) -> None:
    service, seen = peers.service, []
    for number in range(ROUNDS + 1):
        start_again(service)
        moves = (ADA, against_bob(service, BOB)), (BOB, against_ada(service, ADA))
        done = len([row for row in service.audit() if row["outcome"] == "success"])
        if number < ROUNDS:
            replies = race(peers, *moves)
            refusals = {LAST_ADMIN, TOO_LATE}
        else:
            replies = race_to_the_last_step(peers, *moves)
            refusals = {LAST_ADMIN} if service.engine.name == "postgresql" else {LAST_ADMIN, TOO_LATE}
        assert_one_is_left(peers, replies, refusals)
        assert len([row for row in service.audit() if row["outcome"] == "success"]) == done + 1
        seen += [reply.code for reply in replies if reply.code]
    print(
        f"\n{ROUNDS} rounds and one held back: {seen.count('LAST_ADMIN')} LAST_ADMIN, "
        f"{seen.count('FORBIDDEN')} FORBIDDEN, no round without an admin"
    )


@pytest.mark.parametrize(("one", "other"), sample(OWN_PAIRS, 12), ids=named)
def test_the_last_admin_cannot_give_up_both_of_two_rights_at_once(peers: Peers, one: Way, other: Way) -> None:
    service = peers.service
    for attempt in (race, race_to_the_last_step):
        start_again(service)
        replies = attempt(peers, (ADA, one(service, ADA)), (ADA, other(service, ADA)))
        assert sorted(reply.status for reply in replies) in ([204, 409], [200, 409]), replies
        assert {reply.code for reply in replies} == {None, "LAST_ADMIN"}
        assert usable_admins(service) == {service.identity_id(ADA)}


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_a_refused_removal_leaves_the_service_fit_for_the_next_request(peers: Peers, way: Way) -> None:
    removal = way(peers.service, ADA)
    # What a refused request leaves open must not have to wait for the garbage collector.
    gc.disable()
    try:
        refused = peers.expect(409, 0, ADA, removal.method, removal.path, removal.body)
        assert refused.code == "LAST_ADMIN"
        peers.expect(200, 0, ADA, "GET", "/whoami")
    finally:
        gc.enable()


def test_of_two_listed_admins_who_disable_each_other_at_most_one_succeeds(
    make_service: Maker, tmp_path: Path
) -> None:
    settings = {**SETTINGS, "BOOTSTRAP_ADMINS": f"{ADA},{BOB}"}
    with peers_of(make_service(**settings), tmp_path, **settings) as peers:
        for attempt in (race, race_to_the_last_step) * ROUNDS:
            start_again(peers.service)
            ids = [
                peers.expect(200, index, subject, "GET", "/whoami").json["identity"]["id"]
                for index, subject in enumerate((ADA, BOB))
            ]
            moves = [Removal("PATCH", f"/identities/{one}", {"disabled": True}) for one in ids]
            replies = attempt(peers, (ADA, moves[1]), (BOB, moves[0]))
            assert_one_is_left(peers, replies, {LAST_ADMIN, TOO_LATE})


@pytest.mark.parametrize("way", REMOVALS, ids=named)
def test_of_two_admins_who_remove_the_same_thing_one_finds_it_gone(peers: Peers, way: Way) -> None:
    service = peers.service
    service.grant(ADA, "admin")
    service.grant(BOB, "admin")
    removal = way(service, "eve@example.com")
    replies = race_to_the_last_step(peers, (ADA, removal), (BOB, removal))
    assert sorted(reply.status for reply in replies) == [204, 404], replies
    assert len([row for row in service.audit() if row["outcome"] == "success"]) == 1
