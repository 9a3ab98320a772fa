"""The log replayed against the tables: it explains what the service did, and names what it did not do."""

from __future__ import annotations

import hashlib

import pytest
from rotation import NEW_KEY, NEXT_KEY, rotated
from secrets_client import CANONICAL, Vault, detail, environment_ids
from service import MASTER_KEY
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from secretsvc.db.engine import snapshot
from secretsvc.kernel.ids import new_id
from secretsvc.sealedlog.models import audit_head, audit_signer, audit_snapshot
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.snapshots import adopt_state
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.sealing import Bound, seal_some
from secretsvc.sealedlog.verification.verify import verify_database
from secretsvc.secrets.models import digest_key, secret
from secretsvc.tables.projects import project
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Verifier

pytestmark = pytest.mark.both_engines

INI = "production.ini"
WELL = "All is as it was sealed.\n"


@pytest.fixture
def lived(vault, service):
    """A service in which everything was done at least once that a replay follows."""
    admin = vault.client
    live(admin, vault, Vault(admin, CANONICAL.replace("prod", "dev")))
    return service


def live(admin, prod, dev):
    group = admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201).json["id"]
    gone = admin.post("/groups", {"slug": "gone", "name": "Gone"}, 201).json["id"]
    ada = announce(admin, "ada@example.com")
    bot = announce(admin, "bot")
    for one in (group, gone):
        admin.post(f"/groups/{one}/members", {"identity_id": ada}, 201)
        admin.post(
            f"/groups/{one}/grants", {"scope_type": "project", "project": "shop", "role": "reader"}, 201
        )
    admin.post(f"/groups/{group}/members", {"identity_id": bot}, 201)
    admin.delete(f"/groups/{group}/members/{bot}")
    admin.delete(f"/groups/{gone}")
    admin.patch(f"/identities/{bot}", {"disabled": True})
    brief = announce(admin, "brief")
    admin.post(f"/groups/{group}/members", {"identity_id": brief}, 201)
    whole = {"scope_type": "project", "project": "shop", "role": "reader"}
    admin.post("/grants", {**whole, "identity_id": brief}, 201)
    admin.delete(f"/identities/{brief}")
    scope = {"scope_type": "environment", "project": "shop", "environment": "dev"}
    made = admin.post("/grants", {**scope, "identity_id": ada, "role": "reader"}, 201).json["id"]
    admin.patch(f"/grants/{made}", {"role": "writer", "expires_at": 5})
    removed = admin.post("/grants", {**scope, "identity_id": ada, "role": "admin"}, 201).json["id"]
    admin.delete(f"/grants/{removed}")
    admin.post("/projects", {"slug": "old", "name": "Old"}, 201)
    admin.post("/projects/old/environments", {"slug": "prod", "name": "Prod"}, 201)
    Vault(admin, "/projects/old/environments/prod").set(A="x")
    admin.post(
        "/grants", {"scope_type": "project", "project": "old", "identity_id": ada, "role": "admin"}, 201
    )
    admin.delete("/projects/old")
    prod.batch(set={"A": "x", "B": "x", "C": "x"}, descriptions={"A": "of A", "B": "of B"})
    prod.batch(set={"A": "y"}, delete=["B"])
    prod.batch(set={"C": "y"}, descriptions={"C": "of C"})
    prod.rename("A", "D")
    prod.rollback("B", 1)
    prod.post("copy", {"from": {"project": "shop", "environment": "prod"}, "from_rev": 1, "keys": ["A"]})
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    dev.load("A=z\nE=z", mode="replace")
    dev.post("restore", {"to_rev": 1})
    admin.patch("/projects/shop/environments/dev", {"protected": True})


def announce(admin, subject):
    kind = "user" if "@" in subject else "service"
    return admin.post("/identities", {"kind": kind, "subject": subject}, 201).json["id"]


@pytest.fixture
def audit(secretsvc):
    """Runs a subcommand: what it prints, with a status that is expected."""

    def run(*arguments, status=0, **settings):
        done = secretsvc("audit", *map(str, arguments), **settings)
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout

    return run


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def problems(service):
    """What a verification in one state of the database says."""
    with snapshot(service.engine) as connection:
        return [*told(service, connection)]


def told(service, connection):
    [signer] = service.rows(audit_signer)
    signers = Signers(Verifier("secretsvc", signer["public_key"]))
    return verify_database(connection, signers, [], None, service.app.registry.load_ring())


def adopted(service):
    return adopt_state(service.engine, Sealing(service.app.registry.load_ring(), "secretsvc"), "by-a-test")


@pytest.mark.slow
def test_all_that_the_service_does_is_explained_from_the_first_record_on(lived, audit):
    seal(lived)
    assert audit("verify", "--ini", INI) == WELL
    assert lived.rows(audit_snapshot) == []


@pytest.mark.slow
def test_records_that_wait_are_applied_too_and_so_is_nothing_that_came_after(lived):
    registry = lived.app.registry
    assert seal_some(lived.engine, Sealing(registry.load_ring(), "secretsvc"), Bound(9, 60)) == 9
    assert problems(lived) == []
    with snapshot(lived.engine) as connection:
        assert connection.execute(select(audit_head.c.size)).scalar_one() == 9
        Vault(lived.user()).set(LATER="x")
        assert [*told(lived, connection)] == []
    assert problems(lived) == []


@pytest.mark.slow
def test_the_first_export_adopts_what_was_there_and_no_other_does(lived, audit, tmp_path):
    stray = {**lived.rows(project)[0], "id": new_id(), "slug": "stray"}
    lived.execute(insert(project), stray)
    seal(lived)
    size = lived.rows(audit_head)[0]["size"]
    line = f"project {stray['id']}: the log does not tell of it"
    assert audit("verify", "--ini", INI, status=1) == f"database: {line}\n"
    audit("export", INI, tmp_path / "export")
    [row], [record] = lived.rows(audit_snapshot), lived.audit("audit.adopt")
    said = {"size": size, "sha256": hashlib.sha256(row["content"]).hexdigest()}
    assert (record["actor_kind"], detail(record)) == (None, said)
    assert audit("verify", "--ini", INI) == WELL
    second = {**stray, "id": new_id(), "slug": "second"}
    lived.execute(insert(project), second)
    audit("export", INI, tmp_path / "another")
    assert len(lived.audit("audit.adopt")) == 1
    assert problems(lived) == [f"project {second['id']}: the log does not tell of it"]


@pytest.mark.slow
def test_what_waited_when_the_state_was_adopted_is_not_applied_twice(lived, vault):
    registry = lived.app.registry
    assert seal_some(lived.engine, Sealing(registry.load_ring(), "secretsvc"), Bound(9, 60)) == 9
    assert adopted(lived)
    assert not adopted(lived)
    assert problems(lived) == []
    vault.batch(set={"C": "again"}, descriptions={"C": "other"})
    seal(lived)
    assert problems(lived) == []


LET = {
    "sqlite": "DROP TRIGGER audit_snapshot_no_{}",
    "postgresql": "ALTER TABLE audit_snapshot DISABLE TRIGGER USER",
}


def test_an_adopted_state_that_was_changed_or_taken_away_is_told_and_not_replaced(lived):
    seal(lived)
    assert adopted(lived)
    where = f"index {lived.rows(audit_head)[0]['size']}"
    seal(lived)
    [row] = lived.rows(audit_snapshot)
    lived.execute(LET[lived.engine.name].format("update"))
    forged = State.from_json(row["content"])
    forged.projects.clear()
    lived.execute(update(audit_snapshot).values(content=forged.to_json()))
    assert problems(lived) == ["the state that a replay begins with is not signed by this key"]
    if lived.engine.name == "sqlite":
        lived.execute(LET["sqlite"].format("delete"))
    lived.execute(delete(audit_snapshot))
    assert problems(lived) == [
        f"{where}: the state that was adopted there is not what the replay begins with"
    ]
    assert not adopted(lived)


@pytest.mark.slow
def test_the_database_refuses_to_change_what_was_adopted_or_a_kept_key(lived):
    seal(lived)
    assert adopted(lived)
    rotated(lived).user().post("/admin/rekey", {"limit": 500})
    for table, same in ((audit_snapshot, {"note": "x"}), (digest_key, {"kid": "x"})):
        assert len(lived.rows(table)) == 1
        for statement in (update(table).values(same), delete(table)):
            with pytest.raises(DBAPIError):
                lived.execute(statement)


@pytest.mark.slow
def test_descriptions_are_compared_after_two_rotations_and_without_a_key_only_whether_there_are_any(
    lived, audit
):
    now = rotated(lived)
    now.user().post("/admin/rekey", {"limit": 500})
    now = now.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=NEW_KEY)
    now.user().post("/admin/rekey", {"limit": 500})
    seal(now)
    last = now.restarted(MASTER_KEY=NEXT_KEY)
    assert problems(last) == []
    within = environment_ids(last)["environment_id"]
    it = (secret.c.key == "D", secret.c.environment_id == within)
    last.execute(update(secret).where(*it).values(description="forged"))
    assert problems(last) == [f"key D of environment {within}: the log has another description"]
    assert audit("verify", "--ini", INI, MASTER_KEY="") == WELL
    strange = last.restarted(MASTER_KEY=MASTER_KEY)
    assert problems(strange) == [f"key D of environment {within}: the log has another description"]
