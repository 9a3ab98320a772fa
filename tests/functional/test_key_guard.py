"""The guard of the key ring: what is not in use seals nothing, whatever the route (decision 0025)."""

from __future__ import annotations

import json
import logging

import pytest
from pages import Browser
from rotation import NEW_KEY, NEXT_KEY, PROD, adopt, fill, rotated
from sealing_routes import adopted, everything, kid_of, refusals, sealed_by
from secrets_client import Vault, block_commit
from service import ADMIN, MASTER_KEY
from statements import recorded

from secretsvc.secrets.models import master_key, secret_version

LOGGER = "secretsvc.secrets.write.sealing"


def write(client, status=200, value="x"):
    return client.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY_0": value}}, status)


def adoptions(service):
    return [json.loads(row["detail"]) for row in service.audit("keyring.adopt")]


def wrong_key(service):
    """A process with a key that has never been here."""
    return service.restarted(MASTER_KEY=NEXT_KEY)


def retired_key(service):
    """A process that was forgotten at step 2 of a rotation that is over: it can open everything."""
    now = rotated(service)
    now.user().post("/admin/rekey", {"limit": 1000})
    return service.restarted(MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)


@pytest.mark.both_engines
def test_the_first_envelope_adopts_its_key_and_the_system_records_it(service, admin):
    assert adopted(service) == []
    fill(admin)
    kid = kid_of(service)
    assert adopted(service) == [(kid, True)]
    (row,) = service.audit("keyring.adopt")
    assert json.loads(row["detail"]) == {"kid": kid, "by": "first"}
    assert (row["actor_subject"], row["identity_id"], row["actor_kind"]) == ("system", None, None)
    assert row["request_id"] == service.audit("secret.batch")[0]["request_id"]


def test_what_seals_nothing_adopts_nothing(service, admin):
    admin.get(f"{PROD}/secrets")
    admin.get(f"{PROD}/secrets:export")
    body = {"format": "env", "content": "A=x", "mode": "merge", "dry_run": True}
    admin.post(f"{PROD}/secrets:import", body)
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "delete": ["A"]})
    admin.post("/admin/rekey", {"limit": 10})
    admin.get("/health")
    assert adopted(service) == []


@pytest.mark.slow
@pytest.mark.parametrize("process", [wrong_key, retired_key])
def test_a_key_that_is_not_in_use_seals_nothing_by_any_route(service, admin, process):
    fill(admin)
    stray = process(service)
    before = everything(service)
    for _ in range(2):
        codes, told = refusals(stray.user(), Browser(stray))
        assert everything(service) == before
    assert kid_of(stray) not in sealed_by(service)
    # What must open a value first, and cannot, says so; the rest is refused for the key itself.
    opening = {"rename", "rollback", "copy", "restore", "rekey"} if process is wrong_key else set()
    assert {name for name, code in codes.items() if code == "UNKNOWN_KID"} == opening
    assert {name for name, code in codes.items() if code == "SERVER_MISCONFIGURED"} == codes.keys() - opening
    assert {
        name for name, text in told.items() if "not configured correctly" not in text
    } == opening & told.keys()


def test_a_key_that_is_not_in_use_goes_on_opening_and_removing(service, admin):
    fill(admin)
    stray = retired_key(service)
    write(stray.user(), 500)
    there = Vault(stray.user())
    assert there.values() == {"KEY_0": "one", "KEY_1": "two", "KEY_2": "two", "KEY_3": "two"}
    assert there.value("KEY_1") == "two"
    assert all(one["readable"] for one in there.listed().values())
    there.batch(delete=["KEY_0"])
    assert "KEY_0" not in there.values()


def test_one_line_of_the_log_names_both_keys_however_many_writes_are_refused(service, admin, caplog):
    fill(admin)
    stray = wrong_key(service)
    with caplog.at_level(logging.INFO, logger=LOGGER):
        for _ in range(5):
            write(stray.user(), 500)
    (line,) = [one for one in caplog.records if one.name == LOGGER]
    assert line.levelno == logging.ERROR
    told = line.getMessage()
    assert told.startswith(f"MASTER_KEY has kid {kid_of(stray)}, which is not adopted")
    assert told.endswith(f": it seals nothing; the newest adopted master key is {kid_of(service)}")


def test_health_tells_what_the_last_write_was_told_and_asks_nothing(service, admin):
    fill(admin)
    stray = wrong_key(service)
    assert stray.nobody().get("/health").json["status"] == "ok"
    write(stray.user(), 500)
    with recorded(stray.engine) as statements:
        assert stray.nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert statements == []
    adopt(service.restarted(MASTER_KEY=NEXT_KEY))
    write(stray.user())
    assert stray.nobody().get("/health").json["status"] == "ok"


def test_a_new_key_beside_one_in_use_is_adopted_by_its_first_envelope(service, admin):
    fill(admin)
    now = rotated(service)
    now.user().get(f"{PROD}/secrets:export")
    assert adopted(service) == [(kid_of(service), True)]
    write(now.user())
    assert adopted(service) == [(kid_of(service), True), (kid_of(now), True)]
    assert adoptions(service)[1] == {"kid": kid_of(now), "by": "rotation"}


def test_a_new_key_beside_a_retired_one_is_not_adopted(service, admin):
    fill(admin)
    rotated(service).user().post("/admin/rekey", {"limit": 1000})
    kept = adopted(service)
    stray = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert write(stray.user(), 500).json["code"] == "SERVER_MISCONFIGURED"
    assert adopted(service) == kept


def test_step_2_of_a_rotation_with_the_old_key_active_and_the_new_one_beside_it_adopts_nothing(
    service, admin
):
    fill(admin)
    second = service.restarted(MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)
    for process in (second, service, second):
        write(process.user())
        assert process.nobody().get("/health").json["status"] == "ok"
    second.user().post("/admin/rekey", {"limit": 10})
    assert adopted(service) == [(kid_of(service), True)]
    assert sealed_by(service) == {kid_of(service)}
    assert len(adoptions(service)) == 1


@pytest.mark.slow
@pytest.mark.both_engines
def test_every_step_of_the_rotation_page_holds_for_two_processes(service, admin):
    fill(admin)
    old, new = {"MASTER_KEY": MASTER_KEY}, {"MASTER_KEY": NEW_KEY}
    steps = [
        old | {"MASTER_KEY_OLD": NEW_KEY},
        new | {"MASTER_KEY_OLD": MASTER_KEY},
        new | {"MASTER_KEY_OLD": None},
    ]
    fleet = [service, service.restarted()]
    for number, settings in enumerate(steps):
        if number == 2:
            assert fleet[1].user().post("/admin/rekey", {"limit": 1000}).json["remaining"] == 0
            assert fleet[0].user().get("/admin/keyring").json["safeToRemoveOldKey"] is True
        # One after the other, and both write before and after each restart.
        for index in range(2):
            fleet[index] = service.restarted(**settings)
            for round_number in range(2):
                for process in fleet:
                    write(process.user(), value=f"{number}{index}{round_number}")
                    process.user().get(f"{PROD}/secrets:export")
    first, second = kid_of(service), kid_of(fleet[0])
    assert adopted(service) == [(first, False), (second, True)]
    assert sealed_by(service) == {second}
    assert [one["by"] for one in adoptions(service)] == ["first", "rotation"]


def test_a_rekey_that_leaves_nothing_retires_the_old_key_even_for_a_process_that_was_writing(service, admin):
    fill(admin)
    write(admin)
    forgotten = service.restarted(MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY)
    write(forgotten.user())
    now = rotated(service).user()
    now.post("/admin/rekey", {"limit": 3})
    assert adopted(service)[0][1] is True
    now.post("/admin/rekey", {"limit": 1000})
    before = everything(service)
    assert adopted(service) == [(kid_of(service), False), (before[1][1][0], True)]
    assert write(admin, 500).json["code"] == "SERVER_MISCONFIGURED"
    assert forgotten.user().post("/admin/rekey", {"limit": 10}, 500).json["code"] == "SERVER_MISCONFIGURED"
    assert everything(service) == before
    assert service.nobody().get("/health", 500)
    assert forgotten.user().post("/admin/rekey", {"limit": 10}, 500).json["code"] == "SERVER_MISCONFIGURED"
    assert forgotten.nobody().get("/health", 500)


def test_a_wrong_key_retires_nothing(service, admin):
    fill(admin)
    write(rotated(service).user())
    service.execute("DELETE FROM secret_version")
    kept = adopted(service)
    wrong_key(service).user().post("/admin/rekey", {"limit": 10})
    service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=NEW_KEY).user().post("/admin/rekey", {"limit": 10})
    assert adopted(service) == kept


def test_the_newest_key_is_never_retired(service, admin):
    fill(admin)
    now = rotated(service)
    write(now.user())
    back = service.restarted(MASTER_KEY=MASTER_KEY, MASTER_KEY_OLD=NEW_KEY).user()
    assert back.post("/admin/rekey", {"limit": 1000}).json["remaining"] == 0
    assert adopted(service) == [(kid_of(service), True), (kid_of(now), True)]


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_restore_with_last_years_key_writes_and_with_this_years_does_so_beside_it(service, admin):
    fill(admin)
    saved = [(table, service.rows(table)) for table in (master_key, secret_version)]
    rotated(service).user().post("/admin/rekey", {"limit": 1000})
    write(admin, 500)
    for table, rows in saved:
        service.execute(table.delete())
        service.execute(table.insert(), [dict(row) for row in rows])
    alone = service.restarted(MASTER_KEY=NEW_KEY)
    assert write(alone.user(), 500).json["code"] == "SERVER_MISCONFIGURED"
    last_year = service.restarted()
    write(last_year.user())
    assert last_year.nobody().get("/health").json["status"] == "ok"
    assert sealed_by(service) == {kid_of(service)}
    write(rotated(service).user())
    assert adopted(service) == [(kid_of(service), True), (kid_of(alone), True)]


@pytest.mark.both_engines
def test_a_first_key_whose_write_is_undone_was_not_adopted(service, admin):
    block_commit(service)
    assert write(admin, 500).json["code"] == "INTERNAL"
    assert adopted(service) == []
    service.execute("DROP TRIGGER indebted" + (" ON audit_record" if service.engine.name != "sqlite" else ""))
    other = service.restarted(MASTER_KEY=NEW_KEY)
    write(other.user())
    assert write(admin, 500).json["code"] == "SERVER_MISCONFIGURED"
    assert sealed_by(service) == {kid_of(other)}


@pytest.mark.slow
def test_envelopes_from_before_the_guard_are_no_first_ones_for_another_key(service, admin):
    fill(admin)
    service.execute(master_key.delete())
    stray = wrong_key(service)
    assert write(stray.user(), 500).json["code"] == "SERVER_MISCONFIGURED"
    assert adopted(service) == []
    write(service.restarted().user())
    assert adopted(service) == [(kid_of(service), True)]


@pytest.mark.both_engines
def test_adopting_a_key_again_makes_it_the_newest_and_revives_it(service, admin):
    fill(admin)
    now = rotated(service)
    now.user().post("/admin/rekey", {"limit": 1000})
    write(admin, 500)
    assert adopt(service).was_retired is True
    write(admin)
    assert adopted(service) == [(kid_of(now), True), (kid_of(service), True)]
    assert adopt(service).changed is False
    assert [one["by"] for one in adoptions(service)] == ["first", "rotation", "command"]


@pytest.mark.both_engines
def test_a_write_takes_two_statements_more_once_in_the_life_of_a_process(make_service, service, admin):
    write(admin)
    process = make_service(LAST_SEEN_RESOLUTION="3600000")
    client, taken = process.user(ADMIN), []
    client.get("/whoami")
    for _ in range(3):
        with recorded(process.engine) as statements:
            write(client)
        taken.append(len(statements))
    assert taken[1] == taken[2]
    assert taken[0] == taken[1] + 1
