"""`Idempotency-Key`: a write that is sent again is done once (contract 8.2)."""

from __future__ import annotations

import threading

import pytest
from secrets_client import Vault
from server import served
from service import MASTER_KEY
from sqlalchemy import update
from statements import recorded
from stopped_clock import StoppedClock
from waiting import eventually

from secretsvc.db.engine import write_transaction
from secretsvc.secrets import idempotency_cleanup
from secretsvc.secrets.models import idempotent_write
from secretsvc.secrets.write import idempotency

pytestmark = pytest.mark.both_engines

DAY = 24 * 60 * 60 * 1000
KEY = {"Idempotency-Key": "deploy-1.2_3"}
#: What each write does to an environment with A and B at revision 2, A at version 2; B is at version 1.
WRITES = {
    "batch": {"mode": "merge", "set": {"C": "canary-once"}, "delete": ["B"]},
    "import": {"format": "env", "mode": "replace", "content": "A=${x}\n"},
    "rename": {"from": "A", "to": "C"},
    "rollback": {"key": "A", "to_version": 1},
    "copy": {"from": {"project": "shop", "environment": "dev"}},
    "restore": {"to_rev": 1},
}
each_write = pytest.mark.parametrize("verb", WRITES)


@pytest.fixture
def prod(admin):
    """Revision 2: A was changed; dev has other values."""
    Vault(admin, "/projects/shop/environments/dev").set(A="9", NEW="1")
    prod = Vault(admin)
    prod.set(A="1", B="1")
    prod.set(A="2")
    return prod


def again(vault, verb, body=None, status=200, **headers):
    """The write under the key, and whether it was answered by the first success."""
    answer = vault.post(verb, body or WRITES[verb], status, headers={**KEY, **headers})
    return answer.json, answer.headers.get("Idempotency-Replayed")


def states(service, prod):
    """All that a second write would change."""
    return prod.values(), prod.client.get(prod.base).json["rev"], len(service.audit())


@each_write
def test_the_first_success_is_the_answer_again_and_nothing_is_done_twice(service, prod, verb):
    first, replayed = again(prod, verb)
    assert replayed is None
    assert first["rev"] == 3
    assert first["changes"]
    prod.set(LATER="1")
    _, rev, records = states(service, prod)
    assert again(prod, verb) == (first, "true")
    assert again(prod, verb) == (first, "true")
    assert prod.client.get(prod.base).json["rev"] == rev
    assert len(service.audit()) == records


@each_write
def test_other_input_under_the_same_key_is_a_conflict(service, prod, verb):
    again(prod, verb)
    before = states(service, prod)[:2]
    other = WRITES[verb] | {"reason": "another"}
    assert again(prod, verb, other, 409)[0]["code"] == "CONFLICT"
    assert states(service, prod)[:2] == before


@pytest.mark.parametrize("verb", ["batch", "import"])
def test_the_expected_revision_is_a_part_of_the_input_and_not_judged_again(prod, verb):
    first, _ = again(prod, verb, **{"If-Match": '"2"'})
    assert again(prod, verb, **{"If-Match": '"2"'}) == (first, "true")
    again(prod, verb, status=409)
    again(prod, verb, status=409, **{"If-Match": '"3"'})


@each_write
def test_failures_are_not_kept(prod, verb):
    prod.client.patch(prod.base, {"protected": True})
    again(prod, verb, status=422)
    prod.client.patch(prod.base, {"protected": False})
    assert again(prod, verb)[1] is None


def test_a_success_is_answered_also_where_it_would_fail_now(prod):
    first, _ = again(prod, "rename")
    prod.client.patch(prod.base, {"protected": True})
    assert again(prod, "rename") == (first, "true")


def test_a_success_that_changed_nothing_is_kept(prod):
    body = {"mode": "merge", "delete": ["NEVER"]}
    first, _ = again(prod, "batch", body)
    assert first == {"rev": 2, "changes": []}
    prod.set(NEVER="1")
    assert again(prod, "batch", body) == (first, "true")
    assert prod.values()["NEVER"] == "1"


def test_another_caller_operation_and_environment_have_keys_of_their_own(service, prod):
    again(prod, "rollback")
    assert again(prod, "restore")[1] is None
    dev = Vault(prod.client, "/projects/shop/environments/dev")
    assert again(dev, "rollback")[1] is None
    service.grant("ada@example.com", "writer", "shop")
    assert again(Vault(service.user("ada@example.com")), "rollback")[1] is None


def test_an_environment_under_the_same_slug_is_another(service, prod):
    body = WRITES["batch"]
    again(prod, "batch", body)
    prod.client.delete(prod.base)
    prod.client.post("/projects/shop/environments", {"slug": "prod", "name": "P"}, 201)
    assert again(prod, "batch", body)[1] is None
    assert len(service.rows(idempotent_write)) == 1


def test_it_is_judged_after_authorization(service, prod):
    ada = service.user("ada@example.com")
    service.grant("ada@example.com", "writer", "shop")
    again(Vault(ada), "batch")
    (grant,) = [one for one in prod.client.get("/grants").json["items"] if one["role"] == "writer"]
    prod.client.delete(f"/grants/{grant['id']}")
    Vault(ada).post("batch", WRITES["batch"], 404, headers=KEY)
    Vault(ada).post("batch", WRITES["batch"], 404, headers={"Idempotency-Key": "not valid"})


@pytest.mark.parametrize(
    ("verb", "key"),
    [
        *(("batch", key) for key in ("", " ", "a b", "ä", "x" * 65, "a,b", "a/b")),
        *((verb, "a b") for verb in WRITES),
    ],
)
def test_a_malformed_key_is_a_400(service, prod, verb, key):
    before = states(service, prod)[:2]
    answer = prod.post(verb, WRITES[verb], 400, headers={"Idempotency-Key": key})
    assert answer.json["code"] == "BAD_REQUEST"
    assert states(service, prod)[:2] == before


@pytest.mark.parametrize("key", ["deploy-1.2_3", "not valid"])
@pytest.mark.parametrize("verb", ["import", "copy", "restore"])
def test_a_dry_run_ignores_it(service, prod, verb, key):
    for _ in range(2):
        answer = prod.post(verb, WRITES[verb] | {"dry_run": True}, headers={"Idempotency-Key": key})
        assert "Idempotency-Replayed" not in answer.headers
    assert service.rows(idempotent_write) == []


def test_elsewhere_it_is_ignored(service, prod):
    body = {"slug": "other", "name": "Other"}
    prod.client.post("/projects", body, 201, headers={"Idempotency-Key": "not valid"})
    prod.client.post("/projects", body, 409, headers={"Idempotency-Key": "not valid"})
    prod.get("secrets/A", headers={"Idempotency-Key": "not valid"})


@pytest.mark.parametrize(("later", "replayed"), [(DAY - 1, "true"), (DAY, None)])
def test_it_holds_for_24_hours(service, prod, monkeypatch, later, replayed):
    clock = StoppedClock(monkeypatch)
    again(prod, "batch")
    service.execute(update(idempotent_write).values(created_at=clock.now - later))
    assert again(prod, "batch")[1] == replayed
    assert again(prod, "batch")[1] == "true"


def test_what_is_older_goes_with_what_comes(service, prod, monkeypatch):
    monkeypatch.setattr(idempotency, "SWEPT", 2)
    for number in range(3):
        prod.post("batch", WRITES["batch"], headers={"Idempotency-Key": f"old-{number}"})
    service.execute(update(idempotent_write).values(created_at=idempotent_write.c.created_at - DAY))
    for number, left in ((0, 2), (1, 2)):
        prod.post("batch", WRITES["batch"], headers={"Idempotency-Key": f"new-{number}"})
        assert len(service.rows(idempotent_write)) == left


def test_a_sweep_removes_no_more_than_it_was_given_whatever_the_plan(service, prod):
    for number in range(5):
        prod.post("batch", WRITES["batch"], headers={"Idempotency-Key": f"old-{number}"})
    with write_transaction(service.engine) as connection:
        if service.engine.name == "postgresql":
            for kind in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"):
                connection.exec_driver_sql(f"SET LOCAL enable_{kind} = off")
        assert idempotency.sweep(connection, 2**53, 2) == 2


def test_a_server_removes_what_is_older_without_a_further_write(service, prod, monkeypatch):
    monkeypatch.setattr(idempotency_cleanup, "BATCH_ROWS", 2)
    monkeypatch.setattr(idempotency_cleanup, "MOMENT_SECONDS", 0.01)
    for number in range(4):
        prod.post("batch", WRITES["batch"], headers={"Idempotency-Key": f"old-{number}"})
    kept = idempotent_write.c
    service.execute(
        update(idempotent_write).where(kept.key != "old-0").values(created_at=kept.created_at - DAY)
    )
    with served(service.app):
        assert eventually(lambda: len(service.rows(idempotent_write)) < 4)
        assert eventually(lambda: [row["key"] for row in service.rows(idempotent_write)] == ["old-0"])
    assert service.app.registry.write_sweeper.step() == 0


def test_no_value_is_kept_and_no_digest_without_a_key(service, prod):
    again(prod, "batch")
    (row,) = service.rows(idempotent_write)
    assert len(row["digest"]) == 32
    assert b"canary-once" not in row["digest"]
    assert "canary-once" not in str(dict(row))


def test_after_the_master_key_was_exchanged_it_still_holds_while_the_old_one_is_there(service, prod):
    new = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
    again(prod, "batch")
    both = service.restarted(MASTER_KEY=new, MASTER_KEY_OLD=MASTER_KEY).user()
    assert again(Vault(both), "batch")[1] == "true"
    alone = service.restarted(MASTER_KEY=new).user()
    assert again(Vault(alone), "batch", status=409)[0]["code"] == "CONFLICT"


def test_of_requests_at_the_same_moment_one_is_done_and_all_are_answered(service, prod):
    found, ready = [], threading.Barrier(4)

    def ask():
        vault = Vault(service.user())
        ready.wait()
        found.append(again(vault, "batch"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers, replayed = zip(*found, strict=True)
    assert all(one == answers[0] for one in answers)
    assert sorted(replayed, key=str) == [None, "true", "true", "true"]
    assert prod.client.get(prod.base).json["rev"] == 3


def test_a_write_takes_four_statements_more_with_a_key_and_none_without(service, prod):
    counts = []
    for headers in ({}, KEY):
        prod.set(WARM="1")
        with recorded(service.engine) as statements:
            prod.post("batch", {"mode": "merge", "set": {"A": "x"}}, headers=headers)
        counts.append(len(statements))
    assert counts[1] == counts[0] + 4


def test_keys_are_described(service):
    document = service.nobody().get("/openapi.json").json
    described = {
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
        for one in operation.get("parameters", ())
        if one == {"$ref": "#/components/parameters/header.Idempotency-Key"}
    }
    assert described == {f"{verb}Secrets" for verb in ("batch", "import", "copy", "restore")} | {
        "renameSecret",
        "rollbackSecret",
    }
