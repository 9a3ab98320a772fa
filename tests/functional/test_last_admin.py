"""The last-admin guards: 409 on whatever would take the last one away, 503 where none is left."""

from __future__ import annotations

import pytest
from fault_injection import at_once
from service import Client
from stopped_clock import StoppedClock

from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

pytestmark = pytest.mark.both_engines

BOSS = "boss@example.com"
SPARE = "spare@example.com"
TABLES = (identity, grant, group, group_member)


class Bosses:
    """A subject that is a global admin by one grant, and the ways to take that away."""

    def __init__(self, service, subject, shared):
        self.service, self.subject = service, subject
        self.id = service.identity_id(subject)
        self.group = service.group(subject.partition("@")[0], subject) if shared else None
        self.grant = service.grant(self.group or self.id, "admin", group=shared)

    def end(self, way):
        """The method, path and body of one way."""
        return {
            "grant": ("DELETE", f"/grants/{self.grant}", None),
            "group's grant": ("DELETE", f"/groups/{self.group}/grants/{self.grant}", None),
            "group": ("DELETE", f"/groups/{self.group}", None),
            "member": ("DELETE", f"/groups/{self.group}/members/{self.id}", None),
            "disabling": ("PATCH", f"/identities/{self.id}", {"disabled": True}),
            "lowering": ("PATCH", f"/grants/{self.grant}", {"role": "writer"}),
            "ending": ("PATCH", f"/grants/{self.grant}", {"expires_at": 1}),
            "group's lowering": (
                "PATCH",
                f"/groups/{self.group}/grants/{self.grant}",
                {"role": "reader", "expires_at": 2**53 - 1},
            ),
        }[way]


#: Whether the grant is a group's, and how it ends.
WAYS = [
    (False, "grant"),
    (False, "disabling"),
    (False, "lowering"),
    (False, "ending"),
    (True, "grant"),
    (True, "group's grant"),
    (True, "group"),
    (True, "member"),
    (True, "disabling"),
    (True, "ending"),
    (True, "group's lowering"),
]
ALL_WAYS = pytest.mark.parametrize(("shared", "way"), WAYS, ids=lambda value: str(value))


def spoiled(service):
    """Grants that leave no usable global admin, whatever they look like."""
    service.grant("expired@example.com", "admin", expires_at=1)
    service.grant("disabled@example.com", "admin")
    service.disable("disabled@example.com")
    service.grant("writer@example.com", "writer")
    service.grant("project@example.com", "admin", "shop")
    service.grant(service.group("empty"), "admin", group=True)
    service.grant(service.group("sleepers", "disabled@example.com"), "admin", group=True)
    service.grant(service.group("expired", "ada@example.com"), "admin", group=True, expires_at=1)


@pytest.fixture
def bare(make_service):
    """A service with a project and without `BOOTSTRAP_ADMINS`."""
    first = make_service()
    first.user().post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    first.execute(grant.delete())
    return make_service(BOOTSTRAP_ADMINS="")


def state(service):
    """All that the guard protects; who was seen when is none of it."""
    return [
        sorted(
            (
                {**row, "last_seen_at": None} if table is identity else dict(row)
                for row in service.rows(table)
            ),
            key=str,
        )
        for table in TABLES
    ]


@pytest.mark.both_engines
@ALL_WAYS
def test_the_last_usable_global_admin_stays(bare, shared, way):
    boss = Bosses(bare, BOSS, shared)
    spoiled(bare)
    client = bare.user(BOSS)
    client.get("/whoami")
    before, records = state(bare), len(bare.audit())
    method, path, body = boss.end(way)
    refused = client.request(method, path, body, status=409)
    assert refused.json["code"] == "LAST_ADMIN"
    assert state(bare) == before
    assert len(bare.audit()) == records
    assert client.get("/whoami").json["global_role"] == "admin"


@ALL_WAYS
@pytest.mark.parametrize("spare", ["direct", "group", "until later"])
def test_the_last_but_one_may_go(bare, shared, way, spare):
    boss = Bosses(bare, BOSS, shared)
    if spare == "group":
        bare.grant(bare.group("spares", SPARE), "admin", group=True)
    else:
        bare.grant(SPARE, "admin", expires_at=2**53 - 1 if spare == "until later" else None)
    method, path, body = boss.end(way)
    bare.user(SPARE).request(method, path, body, status=200 if body else 204)
    bare.user(BOSS).get("/groups", 403)
    assert bare.user(SPARE).get("/whoami").json["global_role"] == "admin"


@ALL_WAYS
def test_any_may_go_while_somebody_is_listed(make_service, shared, way):
    # Somebody who was not seen yet: whom one disables, another is left (contract 4.13).
    service = make_service(BOOTSTRAP_ADMINS="elsewhere@example.com")
    boss = Bosses(service, BOSS, shared)
    method, path, body = boss.end(way)
    service.user(BOSS).request(method, path, body, status=200 if body else 204)
    service.user(BOSS).get("/groups", 403)


def test_what_is_no_global_admin_grant_always_goes(bare):
    boss = Bosses(bare, BOSS, shared=False)
    team = bare.group("team", BOSS, "ada@example.com")
    ids = [
        bare.grant("ada@example.com", "writer"),
        bare.grant("ada@example.com", "admin", "shop"),
        bare.grant("ada@example.com", "admin", expires_at=1),
        bare.grant(team, "writer", group=True),
    ]
    client = bare.user(BOSS)
    for grant_id in ids:
        client.delete(f"/grants/{grant_id}")
    client.delete(f"/groups/{team}/members/{boss.id}")
    client.patch(f"/identities/{bare.identity_id('ada@example.com')}", {"disabled": True})
    client.delete(f"/groups/{team}")
    client.patch(f"/identities/{boss.id}", {"display_name": "Boss", "disabled": False})


def test_an_admin_twice_over_may_lose_one_of_both(bare):
    direct, shared = Bosses(bare, BOSS, shared=False), bare.group("bosses", BOSS)
    other = bare.grant(shared, "admin", group=True)
    client = bare.user(BOSS)
    client.delete(f"/grants/{direct.grant}")
    assert client.delete(f"/grants/{other}", 409).json["code"] == "LAST_ADMIN"


def test_the_guard_judges_expiry_by_the_requests_clock(bare, monkeypatch):
    clock = StoppedClock(monkeypatch)
    boss = Bosses(bare, BOSS, shared=False)
    bare.grant(SPARE, "admin", expires_at=clock.now)
    bare.user(BOSS).delete(f"/grants/{boss.grant}", 409)
    clock.now -= 1
    bare.user(BOSS).delete(f"/grants/{boss.grant}")


def test_when_the_last_admin_expires_nobody_is_served(bare, monkeypatch):
    clock = StoppedClock(monkeypatch)
    bare.grant(BOSS, "admin", expires_at=clock.now)
    bare.grant("ada@example.com", "reader")
    ada = bare.user("ada@example.com")
    clock.now -= 1
    ada.get("/projects/shop")
    clock.now += 1
    for client in (ada, bare.user(BOSS), bare.user("new@example.com")):
        assert client.get("/projects/shop", 503).json["code"] == "NO_ADMINS_CONFIGURED"
    assert bare.rows(identity, identity.c.subject == "new@example.com") == []
    bare.nobody().get("/projects", 401)


def test_the_last_admin_may_be_given_an_end_and_its_end_may_be_put_off(bare, monkeypatch):
    clock = StoppedClock(monkeypatch)
    boss = Bosses(bare, BOSS, shared=False)
    client, path = bare.user(BOSS), f"/grants/{boss.grant}"
    client.patch(path, {"expires_at": clock.now}, 409)
    client.patch(path, {"expires_at": clock.now + 1})
    client.patch(path, {"role": "admin"})
    # By another grant, because nobody lengthens a grant by means of itself.
    bare.grant(SPARE, "admin", expires_at=clock.now + 1)
    bare.user(SPARE).patch(path, {"expires_at": None})
    assert client.get("/whoami").json["global_role"] == "admin"


def test_a_listed_admin_without_its_row_gets_it_back_and_may_lose_it(service, admin):
    [mine] = admin.get("/grants").json["items"]
    admin.delete(f"/grants/{mine['id']}")
    [again] = admin.get("/grants").json["items"]
    assert again["id"] != mine["id"]
    assert again["created_by"] == "system"
    assert len(service.audit("grant.bootstrap")) == 2


DUELS = [(one, other) for one in WAYS for other in WAYS if WAYS.index(one) <= WAYS.index(other)][::3]


@pytest.mark.both_engines
@pytest.mark.parametrize(("first", "second"), DUELS, ids=str)
def test_of_two_admins_who_remove_each_other_at_once_one_is_left(bare, first, second):
    one, two = Bosses(bare, "one@example.com", first[0]), Bosses(bare, "two@example.com", second[0])
    acts = [(two.subject, one.end(first[1])), (one.subject, two.end(second[1]))]
    clients = [bare.user(subject) for subject, _ in acts]
    for client in clients:
        client.get("/whoami")

    def act(turn):
        method, path, body = acts[turn][1]
        return clients[turn].request(method, path, body).status_int

    statuses = at_once(2, act)
    # The loser met the guard, or was no admin any more when it came to be judged.
    assert sorted(status in (200, 204) for status in statuses) == [False, True], statuses
    assert all(status in (200, 204, 403, 409) for status in statuses), statuses
    left = [client for client in clients if client.request("GET", "/grants").status_int == 200]
    assert len(left) == 1


def test_of_many_admins_who_leave_at_once_one_is_left(bare):
    bosses = [Bosses(bare, f"boss{number}@example.com", number % 2 == 1) for number in range(6)]
    tokens = [bare.issuer.sign(boss.subject) for boss in bosses]

    def leave(number):
        way = "grant" if number % 3 else "disabling"
        method, path, body = bosses[number].end(way)
        return Client(bare.app, tokens[number]).request(method, path, body).status_int

    statuses = at_once(6, leave)
    assert sorted(status in (200, 204) for status in statuses) == [False] + [True] * 5
    assert statuses.count(409) == 1
    left = [boss for boss in bosses if bare.user(boss.subject).request("GET", "/grants").status_int == 200]
    assert len(left) == 1
