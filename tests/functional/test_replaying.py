"""The log replayed against the tables: it explains what the service did, and names what it did not do."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from rotation import NEW_KEY, rotated
from service import MASTER_KEY
from sqlalchemy import select
from vault import CANONICAL, Vault

from secretsvc.db.engine import snapshot
from secretsvc.secrets.models import digest_key, secret
from secretsvc.sealedlog.models import audit_head, audit_snapshot
from secretsvc.sealedlog.rules.replaying import State

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
        admin.post(f"/groups/{one}/grants", {"scope_type": "project", "project": "shop", "role": "reader"}, 201)
    admin.post(f"/groups/{group}/members", {"identity_id": bot}, 201)
    admin.delete(f"/groups/{group}/members/{bot}")
    admin.delete(f"/groups/{gone}")
    admin.patch(f"/identities/{bot}", {"disabled": True})
    scope = {"scope_type": "environment", "project": "shop", "environment": "dev"}
    made = admin.post("/grants", {**scope, "identity_id": ada, "role": "reader"}, 201).json["id"]
    admin.patch(f"/grants/{made}", {"role": "writer", "expires_at": 5})
    removed = admin.post("/grants", {**scope, "identity_id": ada, "role": "admin"}, 201).json["id"]
    admin.delete(f"/grants/{removed}")
    admin.post("/projects", {"slug": "old", "name": "Old"}, 201)
    admin.post("/projects/old/environments", {"slug": "prod", "name": "Prod"}, 201)
    Vault(admin, "/projects/old/environments/prod").set(A="x")
    admin.post("/grants", {"scope_type": "project", "project": "old", "identity_id": ada, "role": "admin"}, 201)
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


def test_all_that_the_service_does_is_explained_from_the_first_record_on(lived, audit):
    seal(lived)
    assert audit("verify", "--ini", INI) == WELL
    assert lived.rows(audit_snapshot) == []
