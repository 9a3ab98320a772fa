"""The key ring over the API: the report, and rekeying by pages."""

from __future__ import annotations

import pytest
from calls import call_of
from rotation import NEW_KEY, PROD, fill, rotated
from service import ADMIN, API, MASTER_KEY
from statements import recorded

from secretsvc.db.engine import set_mode
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.keyring.rules import load_page
from secretsvc.secrets.models import secret_version


def test_the_report_counts_current_and_historical_envelopes_but_no_tombstones(service, admin):
    fill(admin)
    report = admin.get("/admin/keyring").json
    assert set(report) == {"active_kid", "keys", "safeToRemoveOldKey"}
    assert report["keys"] == [{"kid": report["active_kid"], "active": True, "held": True, "rows": 9}]
    assert report["safeToRemoveOldKey"] is True


@pytest.mark.both_engines
def test_the_old_key_is_not_safe_to_remove_while_rows_name_it(service, admin):
    fill(admin)
    before = admin.get("/admin/keyring").json["active_kid"]
    report = rotated(service).user().get("/admin/keyring").json
    new, old = report["keys"]
    assert (new["active"], new["held"], new["rows"]) == (True, True, 0)
    assert old == {"kid": before, "active": False, "held": True, "rows": 9}
    assert report["safeToRemoveOldKey"] is False


def test_a_kid_that_rows_name_but_the_ring_does_not_hold_is_reported(service, admin):
    fill(admin)
    report = service.restarted(MASTER_KEY=NEW_KEY).user().get("/admin/keyring").json
    assert [(key["held"], key["rows"]) for key in report["keys"]] == [(True, 0), (False, 9)]
    assert report["safeToRemoveOldKey"] is False


@pytest.mark.parametrize(
    ("old", "new"), [(MASTER_KEY, NEW_KEY), (NEW_KEY, MASTER_KEY)], ids=["forth", "back"]
)
def test_pages_move_every_envelope_and_leave_all_else_as_it_was(service, admin, old, new):
    """Both ways, because envelopes are looked for by kids below and above the active one."""
    then = service.restarted(MASTER_KEY=old).user()
    fill(then)
    before = [then.get(f"{PROD}{path}").json for path in ("", "/secrets:export", "/secrets/KEY_1/versions")]
    now = service.restarted(MASTER_KEY=new, MASTER_KEY_OLD=old).user()
    pages = []
    while not pages or pages[-1]["remaining"]:
        pages.append(now.post("/admin/rekey", {"limit": 4}).json)
    assert pages == [
        {"rekeyed": 4, "remaining": 5},
        {"rekeyed": 4, "remaining": 1},
        {"rekeyed": 1, "remaining": 0},
    ]
    assert now.get("/admin/keyring").json["safeToRemoveOldKey"] is True
    alone = service.restarted(MASTER_KEY=new).user()
    after = [alone.get(f"{PROD}{path}").json for path in ("", "/secrets:export", "/secrets/KEY_1/versions")]
    for version in [*before[2]["items"], *after[2]["items"]]:
        del version["kid"]
    assert after == before
    assert alone.post(f"{PROD}/secrets:rollback", {"key": "KEY_1", "to_version": 1}).json["rev"] == 4


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_two_pages_at_once_have_no_row_in_common_and_wait_for_nobody(service, admin):
    fill(admin)
    now, found = rotated(service), []
    with call_of(now, ADMIN) as one, call_of(now, ADMIN) as other:
        for call in (one, other):
            set_mode(call.connection, Mode.WRITE)
            found += load_page(call, call.ring.active_kid, 4)
    assert len({(row.secret_id, row.sealed.version) for row in found}) == 8


def test_each_page_that_moves_something_is_recorded_and_an_idle_one_is_not(service, admin):
    fill(admin)
    now = rotated(service)
    now.user().post("/admin/rekey", {"limit": 1000})
    now.user().post("/admin/rekey", {"limit": 1000})
    (row,) = service.audit("keyring.rekey")
    assert '"rekeyed":9' in row["detail"]
    assert '"remaining":0' in row["detail"]
    assert row["actor_subject"] == ADMIN


@pytest.mark.parametrize(
    ("damage", "code"),
    [({"envelope": b"\x01poison"}, "DECRYPT_FAILED"), ({"kid": "f" * 16}, "DECRYPT_FAILED")],
)
def test_a_page_with_a_poison_row_fails_whole(service, admin, damage, code):
    fill(admin)
    now = rotated(service)
    rows = service.rows(secret_version, secret_version.c.kid.is_not(None))
    worst = max(rows, key=lambda row: (row["secret_id"], row["version"]))
    mine = secret_version.c.secret_id == worst["secret_id"], secret_version.c.version == worst["version"]
    service.execute(secret_version.update().where(*mine).values(**damage))
    assert now.user().post("/admin/rekey", {"limit": 1000}, 500).json["code"] == code
    assert now.user().get("/admin/keyring").json["keys"][0]["rows"] == 0
    assert service.audit("keyring.rekey") == []


def test_a_page_with_a_key_that_the_ring_does_not_hold_fails_by_name(service, admin):
    fill(admin)
    wanted = admin.get("/admin/keyring").json["active_kid"]
    answer = service.restarted(MASTER_KEY=NEW_KEY).user().post("/admin/rekey", {"limit": 1}, 500).json
    assert answer["code"] == "UNKNOWN_KID"
    assert wanted in answer["message"]


@pytest.mark.parametrize("limit", [0, 1001, -1, True, "5", 1.0, None])
def test_a_page_has_1_to_1000_rows(service, admin, limit):
    answer = admin.post("/admin/rekey", {"limit": limit}, 422).json
    assert [issue["path"] for issue in answer["issues"]] == ["limit"]


def test_the_limit_is_required(service, admin):
    assert admin.post("/admin/rekey", {}, 422).json["issues"][0]["path"] == "limit"


@pytest.mark.both_engines
@pytest.mark.parametrize(("method", "path"), [("GET", "/admin/keyring"), ("POST", "/admin/rekey")])
def test_only_global_admins_see_and_turn_the_ring(service, admin, method, path):
    service.grant("pat@example.com", "admin", "shop")
    service.grant("wes@example.com", "writer")
    body = {"limit": 1} if method == "POST" else None
    for email in ("pat@example.com", "wes@example.com", "nobody@example.com"):
        service.user(email).request(method, path, body, status=403)
    assert {row["action"] for row in service.denials()} == {"authz.global.admin"}


def test_without_a_ring_its_routes_say_that_the_service_is_misconfigured(service, admin):
    broken = service.restarted(MASTER_KEY="c2hvcnQ=").user()
    assert broken.get("/admin/keyring", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert broken.post("/admin/rekey", {"limit": 1}, 500).json["code"] == "SERVER_MISCONFIGURED"


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [20, 100])
def test_a_page_takes_as_many_statements_whatever_its_size_and_how_many_are_left(service, admin, count):
    fill(admin, count)
    rotating = rotated(service, LAST_SEEN_RESOLUTION="3600000")
    now = rotating.user()
    now.get("/admin/keyring")
    taken = []
    for limit in (1, 1, 1, 10, 1000, 1000):
        with recorded(rotating.engine) as statements:
            now.post("/admin/rekey", {"limit": limit})
        taken.append(len(statements))
    # The snapshot, the page (in two parts where one does not fill it), the update, the count, the record. The
    # first page also adopts the key and has it hold that of digests, the second asks whether that held, the
    # last two retire the other key.
    assert taken == [11, 7, 6, 6, 8, 6]


def test_the_answer_to_a_page_holds_just_two_numbers(service, admin):
    assert admin.post("/admin/rekey", {"limit": 1}).json == {"rekeyed": 0, "remaining": 0}
    assert admin.get("/admin/keyring").request.path == f"{API}/admin/keyring"
