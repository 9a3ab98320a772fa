"""What waits for those who grant: which grants end soon, who was denied without any, and who is told."""

from __future__ import annotations

import pytest
from calls import call_of
from service import arrange
from statements import recorded

from secretsvc.home.domain.pending_access import expiring_grants, latest_denied_identity
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import Forbidden

pytestmark = pytest.mark.both_engines

ADA, BOB = "ada@example.com", "bob@example.com"
DAY = 86_400_000


@pytest.fixture
def now(service, admin) -> int:
    """Grants that end at several times and scopes, as of this moment."""
    arrange(service, "depot", "prod")
    now = now_ms()
    crew = service.group("crew", BOB)
    service.grant(BOB, "writer", "shop", expires_at=now + 2 * DAY)
    service.grant(crew, "admin", "shop/prod", expires_at=now + DAY, group=True)
    service.grant(BOB, "reader", "depot", expires_at=now + 3 * DAY)
    service.grant(BOB, "admin", expires_at=now + 7 * DAY)
    service.grant(BOB, "reader", "shop/dev", expires_at=now)
    service.grant(BOB, "writer", "shop/dev", expires_at=now + 7 * DAY + 1)
    service.grant(BOB, "admin", "shop/dev")
    return now


def expiring(service, subject, now, limit=20):
    with call_of(service, subject, now) as call:
        found = expiring_grants(call, within=7 * DAY, limit=limit)
    return [(one.holder, one.is_group, one.role, one.project, one.environment) for one in found]


CREW = ("crew", True, "admin", "Shop", "Prod")
SHOP = (BOB, False, "writer", "Shop", None)
DEPOT = (BOB, False, "reader", "Depot", None)
EVERYWHERE = (BOB, False, "admin", None, None)


def test_live_grants_of_the_next_days_are_told_the_first_to_end_first(service, now):
    assert expiring(service, "root@example.com", now) == [CREW, SHOP, DEPOT, EVERYWHERE]
    assert expiring(service, "root@example.com", now, limit=2) == [CREW, SHOP]


@pytest.mark.parametrize(
    ("scope", "expected"), [("shop", [CREW, SHOP]), ("shop/prod", [CREW]), ("depot", [DEPOT])]
)
def test_an_admin_is_told_of_the_scopes_that_it_administers(service, now, scope, expected):
    service.grant(ADA, "admin", scope)
    assert expiring(service, ADA, now) == expected


def test_who_administers_nothing_is_refused(service, now):
    service.grant(ADA, "writer")
    with call_of(service, ADA, now) as call, pytest.raises(Forbidden):
        expiring_grants(call, within=DAY, limit=1)
    assert [denial.action for denial in call.denials] == ["authz.global.admin"]


def test_it_takes_one_statement(service, now):
    with call_of(service, now=now) as call, recorded(service.engine) as statements:
        expiring_grants(call, within=7 * DAY, limit=20)
    assert len(statements) == 1


def test_identities_that_were_lately_denied_and_hold_no_grant_are_counted_once_each(service, admin):
    arrange(service, "depot", "prod")
    since = now_ms()
    for _ in range(2):
        service.user(ADA).get("/projects/shop", 404)
    service.user(BOB).get("/projects/depot", 404)
    service.robot().get("/projects/depot/environments/prod", 404)

    def denied_in_vain(subject, since):
        with call_of(service, subject) as call:
            found = latest_denied_identity(call, since)
        return found.count if found else 0

    assert denied_in_vain("root@example.com", since) == 3
    with call_of(service) as call:
        last = latest_denied_identity(call, since)
    assert (last.subject, last.denials) == (service.robot().get("/whoami").json["identity"]["subject"], 1)
    assert denied_in_vain("root@example.com", now_ms() + 1) == 0
    for slug, expected in (("shop", 1), ("depot", 2), ("depot/prod", 1)):
        service.grant(f"{expected}{slug[-4:]}@example.com", "admin", slug)
        assert denied_in_vain(f"{expected}{slug[-4:]}@example.com", since) == expected
    service.grant(BOB, "reader", "shop", expires_at=1)
    assert denied_in_vain("root@example.com", since) == 3
    service.grant(BOB, "reader", "shop/dev")
    service.grant(service.group("crew", ADA), "reader", "shop", group=True)
    assert denied_in_vain("root@example.com", since) == 1


def test_denials_are_told_to_no_one_who_administers_nothing(service, admin):
    service.grant(ADA, "writer")
    with call_of(service, ADA) as call, pytest.raises(Forbidden):
        latest_denied_identity(call, 0)
