"""Activity over time: every record of the selection is counted once, in the bucket that it lies in."""

from __future__ import annotations

import pytest
from calls import call_of
from resource_fields import log
from service import arrange
from statements import recorded

from secretsvc.audit.models import audit_record
from secretsvc.auditlog.domain import browse_audit
from secretsvc.auditlog.rules import activity, selection
from secretsvc.auditlog.rules.activity import DAY, HOUR, MINUTE
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import earliest_id

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"


@pytest.fixture
def now(service, admin) -> int:
    """A moment in the middle of an hour, with nothing logged but the making of two projects."""
    arrange(service, "depot", "prod")
    return now_ms() // HOUR * HOUR + HOUR // 2


def happened(service, at, count=1, **columns):
    """Records of a moment, with ids of that moment."""
    rows = [
        {
            "id": type(earliest_id(at))(int=earliest_id(at).int + number),
            "created_at": at,
            "action": "test.made",
            "outcome": "success",
            "identity_id": None,
            "actor_kind": "user",
            "actor_subject": "writer@example.com",
            "project_id": None,
            "environment_id": None,
            "request_id": "made-by-a-test",
            "reason": None,
            "detail": None,
        }
        | columns
        for number in range(count)
    ]
    service.execute(audit_record.insert(), rows)


def counted(service, now, subject="root@example.com", **asked):
    with call_of(service, subject, now) as call:
        return browse_audit(call, AuditFilter(action="test.made", **asked)).activity


@pytest.mark.slow
def test_the_last_seven_days_are_counted_in_buckets_of_six_hours(service, now):
    happened(service, now - 8 * DAY)
    happened(service, now - 7 * DAY + 1, 2)
    happened(service, now - DAY, 3, outcome="denied", request_id="other")
    happened(service, now, 4, request_id="now")
    found = counted(service, now)
    assert {one.end - one.start for one in found.buckets} == {6 * HOUR}
    assert len(found.buckets) in (28, 29)
    assert found.buckets[0].start <= now - 7 * DAY + 1 < found.buckets[0].end
    assert found.buckets[-1].start <= now < found.buckets[-1].end
    assert (found.buckets[0].successes, found.buckets[-1].successes) == (2, 4)
    assert sum(one.denials for one in found.buckets) == 3
    assert (found.total, found.cut) == (9, False)


@pytest.mark.parametrize(
    ("span", "length"),
    [
        (1, MINUTE),
        (HOUR, 5 * MINUTE),
        (DAY, HOUR),
        (28 * DAY, DAY),
        (28 * DAY + 1, 2 * DAY),
        (365 * DAY, 14 * DAY),
    ],
)
def test_a_bucket_is_as_long_as_the_window_needs(service, now, span, length):
    since = now - span
    happened(service, since)
    happened(service, now, request_id="outside")
    found = counted(service, now, since=since, until=now)
    assert {one.end - one.start for one in found.buckets} == {length}
    assert all(one.start % length == 0 for one in found.buckets)
    assert len(found.buckets) <= 30
    assert [one.successes for one in found.buckets] == [1] + [0] * (len(found.buckets) - 1)


@pytest.mark.parametrize(("since", "until"), [(5, 5), (6, 5), (2**53 - 1, None)])
def test_times_that_leave_no_room_have_no_buckets(service, now, since, until):
    assert counted(service, now, since=since, until=until).buckets == []


@pytest.mark.parametrize("since", [0, 1])
def test_the_longest_window_has_few_buckets_too(service, now, since):
    happened(service, now - 1)
    found = counted(service, now, since=since, until=2**53 - 1)
    assert len(found.buckets) <= 30
    assert found.total == 1


def test_what_is_counted_is_what_the_caller_may_audit_and_asked_for(service, now):
    prod, depot = service.scope("shop/prod"), service.scope("depot")
    happened(service, now - 1, 2, project_id=prod["project_id"], environment_id=prod["environment_id"])
    happened(service, now - 2, 3, environment_id=prod["environment_id"], outcome="denied")
    happened(service, now - 3, 4, project_id=depot["project_id"])
    service.grant(ADA, "admin", "shop")
    assert counted(service, now).total == 9
    assert counted(service, now, ADA).total == 5
    assert counted(service, now, ADA, outcome="denied").total == 3
    assert counted(service, now, ADA, actor="nobody").total == 0
    assert counted(service, now, project="depot").total == 4
    assert counted(service, now, ADA, environment="prod").total == 5
    page = {"cursor": earliest_id(0), "limit": 1}
    assert counted(service, now, **page).total == 9


def test_a_selection_that_is_too_large_is_counted_from_its_newest_end(service, now, monkeypatch):
    monkeypatch.setattr(activity, "COUNTED", 3)
    log(service, 5, action="test.made", created_at=now)
    found = counted(service, now, since=now - HOUR)
    assert (found.total, found.cut) == (4, True)
    assert found.buckets[0].successes == 4


def test_more_scopes_than_a_union_takes_are_counted_too(service, now, monkeypatch):
    service.grant(ADA, "admin", "shop")
    prod = service.scope("shop/prod")
    happened(service, now - 1, 2, project_id=prod["project_id"], environment_id=prod["environment_id"])
    happened(service, now - 2, 3, environment_id=prod["environment_id"], outcome="denied")
    happened(service, now - 3, 4)
    monkeypatch.setattr(selection, "PARTS", 2)
    assert counted(service, now, ADA).total == 5


@pytest.mark.parametrize("count", [1, 300])
def test_browsing_takes_as_many_statements_however_much_there_is(service, now, count):
    scope = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    log(service, count, created_at=now, **scope)
    service.grant(ADA, "admin", "shop")
    for subject, expected in (("root@example.com", 3), (ADA, 4)):
        with call_of(service, subject, now) as call, recorded(service.engine) as statements:
            browse_audit(call, AuditFilter())
        assert len(statements) == expected
