"""What clients read of the sealed log: its head and key, indexes, and a tail that skips nothing."""

from __future__ import annotations

import pytest
from resource_fields import log
from statements import recorded

from secretsvc.auditlog import domain
from secretsvc.kernel.ids import new_id
from secretsvc.transparency.signed_note import read_checkpoint, read_verifier

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
OLDEST = "/audit?order=oldest"


@pytest.fixture
def seal(service):
    """Seals what waits."""

    def run():
        while service.app.registry.audit_sealer.step():
            pass

    return run


@pytest.fixture
def root(vault, seal):
    """The administrator of a service with a sealed log."""
    vault.set(A="x")
    seal()
    return vault.client


def tail(client, query="", cursor=None, limit=3):
    """Records to the present end of the log and the cursor there; a page that is not full ends it."""
    found = []
    while True:
        at = f"&cursor={cursor}" if cursor else ""
        answer = client.get(f"{OLDEST}&limit={limit}{query}{at}").json
        found += answer["items"]
        cursor = answer["next_cursor"]
        assert cursor is not None
        if len(answer["items"]) < limit:
            return found, cursor


def ids(items):
    return [item["id"] for item in items]


def test_the_checkpoint_is_that_of_all_records_and_verified_by_the_key(root, service):
    key = root.get("/audit/key").text
    checkpoint = read_checkpoint(root.get("/audit/checkpoint").text, read_verifier(key))
    assert checkpoint.origin == "secretsvc"
    assert checkpoint.size == len(service.audit())


@pytest.mark.slow
def test_another_name_of_the_log_is_that_of_its_checkpoints_and_its_key(make_service, vault):
    vault.set(A="x")
    named = make_service(AUDIT_ORIGIN="log.example.com/secrets")
    assert named.app.registry.audit_sealer.step() > 0
    verifier = read_verifier(named.user().get("/audit/key").text)
    checkpoint = read_checkpoint(named.user().get("/audit/checkpoint").text, verifier)
    assert checkpoint.origin == verifier.name == "log.example.com/secrets"


@pytest.mark.slow
@pytest.mark.parametrize("malformed", [{"AUDIT_SEAL_SECONDS": "soon"}, {"AUDIT_ORIGIN": "our log"}])
def test_while_a_setting_stops_the_sealing_the_answers_that_need_it_say_so(admin, service, malformed):
    stopped = service.restarted(**malformed)
    for path in ("/audit/checkpoint", "/audit/key", OLDEST):
        refused = stopped.user().get(path, 500).json
        assert (refused["code"], refused["message"]) == (
            "SERVER_MISCONFIGURED",
            "The service is not configured correctly.",
        )
        # What the settings are is told to those who may see the log.
        assert stopped.user("nobody@example.com").get(path, 403).json["code"] == "FORBIDDEN"
    assert stopped.user().get("/audit").json["items"]


def test_before_anything_is_sealed_there_is_neither_head_nor_key(admin):
    assert admin.get("/audit/checkpoint", 404).json["code"] == "NOT_FOUND"
    assert admin.get("/audit/key", 404).json["code"] == "NOT_FOUND"
    first = admin.get(OLDEST).json
    assert first["items"] == []
    assert admin.get(f"{OLDEST}&cursor={first['next_cursor']}").json == first
    assert admin.get(f"{OLDEST}&cursor={new_id()}", 422).json["issues"][0]["path"] == "cursor"


def test_neither_is_audited(root, service):
    before = service.audit()
    root.get("/audit/checkpoint")
    root.get("/audit/key")
    assert service.audit() == before


def test_an_index_is_told_to_global_admins_once_it_is_known(root, service, seal):
    newest = [item["index"] for item in root.get("/audit").json["items"]]
    assert newest == [*range(len(newest))][::-1]
    log(service)
    assert root.get("/audit?limit=1").json["items"][0]["index"] is None
    seal()
    assert root.get("/audit?limit=1").json["items"][0]["index"] == len(newest)


def test_an_index_is_told_to_nobody_else(root, service):
    service.grant(ADA, "admin", "shop")
    ada = service.user(ADA)
    for query in ("/audit", OLDEST):
        items = ada.get(query).json["items"]
        assert items
        assert {item["index"] for item in items} == {None}


def test_a_tail_gives_every_sealed_record_by_its_index_and_goes_on_at_the_end(root, service, seal):
    first, cursor = tail(root)
    assert ids(first) == [str(row["id"]) for row in service.audit()]
    assert [item["index"] for item in first] == [*range(len(first))]
    assert tail(root, cursor=cursor)[0] == []
    waiting = [str(one) for one in log(service, 5)]
    assert tail(root, cursor=cursor)[0] == []
    seal()
    assert ids(tail(root, cursor=cursor)[0]) == waiting


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_narrowed_tail_gives_what_its_caller_may_audit(root, service, seal, limit):
    service.grant(ADA, "admin", "shop/prod")
    columns = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    for _ in range(3):
        log(service, 4)
        log(service, 2, **columns)
    seal()
    found, _ = tail(service.user(ADA), limit=limit)
    expected = [row for row in service.audit() if row["environment_id"] == columns["environment_id"]]
    assert ids(found) == [str(row["id"]) for row in expected]
    assert len(found) > 6


def test_any_filter_may_go_on_from_a_cursor(root, service, seal):
    _, cursor = tail(root, "&action=test.none")
    made = [str(one) for one in log(service, 3, action="test.one") + log(service, 2, action="test.two")]
    seal()
    first = root.get(f"{OLDEST}&action=test.one&limit=2&cursor={cursor}").json
    assert ids(first["items"]) == made[:2]
    assert ids(tail(root, "&action=test.two", first["next_cursor"])[0]) == made[3:]
    assert ids(tail(root, cursor=first["next_cursor"])[0]) == made[2:]


def test_a_key_is_followed_in_the_order_of_the_log(root, vault, seal):
    query = "&project=shop&environment=prod&key=A"
    first, cursor = tail(root, query)
    assert [item["action"] for item in first] == ["secret.batch"]
    vault.set(B="y")
    vault.get("secrets/A")
    vault.set(A="z")
    seal()
    following, end = tail(root, query, cursor)
    assert [item["action"] for item in following] == ["secret.reveal", "secret.batch"]
    assert tail(root, query, end)[0] == []


def test_a_cursor_tells_nothing_and_no_other_is_taken(root, service, seal):
    cursors = {tail(root)[1] for _ in range(5)}
    assert len(cursors) == 5
    [made] = log(service)
    seal()
    assert {ids(tail(root, cursor=cursor)[0])[0] for cursor in sorted(cursors)} == {str(made)}
    for wrong in (str(made), str(new_id())):
        assert root.get(f"{OLDEST}&cursor={wrong}", 422).json["issues"][0]["path"] == "cursor"
    assert root.get("/audit?order=newest", 422).json["issues"][0]["path"] == "order"


def test_a_page_of_the_sealed_log_takes_two_statements_beside_its_reach(root, service):
    with recorded(service.engine) as statements:
        root.get(OLDEST)
    assert len([one for one in statements if "audit_" in one]) == 2


def test_a_page_looks_at_a_window_of_the_log_and_nothing_is_skipped_from_one_to_the_next(
    root, service, seal, monkeypatch
):
    made = []
    for _ in range(4):
        log(service, 4)
        made += [str(one) for one in log(service, 1, action="test.rare")]
    seal()
    monkeypatch.setattr(domain, "WINDOW", 3)
    found, cursor = [], ""
    for _ in range(len(service.audit()) // 3 + 2):
        page = root.get(f"{OLDEST}&action=test.rare&limit=2{cursor}").json
        found += ids(page["items"])
        cursor = f"&cursor={page['next_cursor']}"
    assert found == made
    everything, _ = tail(root, limit=1)
    assert ids(everything) == [str(row["id"]) for row in service.audit()]
