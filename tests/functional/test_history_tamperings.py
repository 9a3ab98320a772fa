"""Ways to rewrite the history of secrets by SQL, and what a verification says of each.

The writer may do everything in the database, and has no master key.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from secrets_client import CANONICAL, Vault
from sqlalchemy import and_, delete, insert, select, update

from secretsvc.db.engine import set_mode
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.sealedlog.models import audit_signer
from secretsvc.sealedlog.verification.verify import verify_database
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.tables.projects import environment
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Verifier

pytestmark = pytest.mark.both_engines

INI = "production.ini"


class Scene(SimpleNamespace):
    """A sealed history of two environments, open in a transaction that is rolled back."""

    def run(self, statement, **values):
        return self.connection.execute(statement, values or None)

    def id_of(self, key):
        is_it = and_(secret.c.environment_id == self.prod, secret.c.key == key)
        return self.run(select(secret.c.id).where(is_it)).scalar_one()

    def is_version(self, key, version):
        return and_(secret_version.c.secret_id == self.id_of(key), secret_version.c.version == version)

    def version(self, key, version):
        return dict(self.run(select(secret_version).where(self.is_version(key, version))).mappings().one())

    def change(self, key, version, **columns):
        """Changes a version; what a verification calls it."""
        self.run(update(secret_version).where(self.is_version(key, version)).values(columns))
        return f"version {version} of key {key} of environment {self.prod}"

    def change_revision(self, at, /, **columns):
        """Changes a revision of prod; what a verification calls it."""
        is_it = and_(revision.c.environment_id == self.prod, revision.c.rev == at)
        self.run(update(revision).where(is_it).values(columns))
        return f"revision {at} of environment {self.prod}"

    def problems(self):
        signers = Signers(Verifier("secretsvc", self.run(select(audit_signer.c.public_key)).scalar_one()))
        return [*verify_database(self.connection, signers, [], None, self.ring)]


@pytest.fixture
def written(vault, service):
    """Every kind of write at least once: each comment is the revision of prod."""
    spy = write_by_another(vault, service)  # 1 and 2
    vault.batch(delete=["B"])  # 3
    vault.rollback("B", 1)  # 4
    vault.rename("A", "C")  # 5
    dev = Vault(vault.client, CANONICAL.replace("prod", "dev"))
    dev.set(E="elsewhere")
    vault.post("copy", {"from": {"project": "shop", "environment": "dev"}, "reason": "copied"})  # 6
    vault.post("restore", {"to_rev": 1})  # 7
    vault.load("D=imported")  # 8
    seal(service)
    return spy


def write_by_another(vault, service):
    """A value that is leaked, and the one that takes its place by another writer; the id of that one."""
    person = {"kind": "user", "subject": "spy@example.com"}
    spy = vault.client.post("/identities", person, 201).json["id"]
    scope = {"scope_type": "environment", "project": "shop", "environment": "prod"}
    vault.client.post("/grants", {**scope, "identity_id": spy, "role": "writer"}, 201)
    vault.set(A="leaked", B="other")
    Vault(service.user("spy@example.com")).batch(set={"A": "rotated"}, reason="rotated")
    return spy


@pytest.fixture
def scene(written, service):
    ring = service.app.registry.load_ring()
    with service.engine.connect() as connection:
        writer = set_mode(connection, Mode.WRITE)
        with writer.begin() as transaction:
            scene = Scene(connection=writer, ring=ring, spy=written)
            [scene.prod, scene.dev] = [
                writer.execute(select(environment.c.id).where(environment.c.slug == slug)).scalar_one()
                for slug in ("prod", "dev")
            ]
            yield scene
            transaction.rollback()


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def other(thing, *fields):
    return f"{thing}: the log has another {', '.join(fields)}"


def untold(thing):
    return f"{thing}: the log does not tell of it"


def missing(thing):
    return f"{thing}: it is missing, and the log does not tell why"


def revision_of_a_version(scene):
    return other(scene.change("A", 2, rev=1), "rev")


def author_of_a_version(scene):
    return other(scene.change("A", 2, created_by=scene.version("A", 1)["created_by"]), "created_by")


def author_of_a_version_removed(scene):
    return other(scene.change("A", 2, created_by=None), "created_by")


def time_of_a_version(scene):
    return other(scene.change("A", 2, created_at=1), "created_at")


def origin_removed(scene):
    nothing = {"origin_environment_id": None, "origin_secret_id": None, "origin_version": None}
    return other(scene.change("C", 1, **nothing), "origin")


def origin_of_a_rollback_changed(scene):
    return other(scene.change("B", 3, origin_version=2), "origin")


def origin_of_a_copy_changed(scene):
    return other(scene.change("E", 1, origin_environment_id=scene.prod), "origin")


def origin_of_a_restore_changed(scene):
    return other(scene.change("A", 4, origin_secret_id=scene.id_of("B")), "origin")


def origin_given_to_a_new_value(scene):
    origin = {"origin_environment_id": scene.dev, "origin_secret_id": 1, "origin_version": 1}
    return other(scene.change("D", 1, **origin), "origin")


def older_version_removed(scene):
    scene.run(delete(secret_version).where(scene.is_version("A", 1)))
    return missing(f"version 1 of key A of environment {scene.prod}")


def version_added(scene):
    scene.run(insert(secret_version), **{**scene.version("A", 2), "version": 9})
    return untold(f"version 9 of key A of environment {scene.prod}")


def tombstone_made_a_value(scene):
    sealed = {name: scene.version("A", 2)[name] for name in ("envelope", "kid")}
    return other(scene.change("B", 2, **sealed), "deleted")


def value_made_a_tombstone(scene):
    return other(scene.change("A", 1, envelope=None, kid=None), "deleted")


def action_of_a_revision(scene):
    return other(scene.change_revision(2, action="secret.import"), "action")


def reason_of_a_revision(scene):
    return other(scene.change_revision(2, reason="because"), "reason")


def reason_of_a_revision_removed(scene):
    return other(scene.change_revision(2, reason=None), "reason")


def action_and_reason_of_a_revision_removed(scene):
    return other(scene.change_revision(2, action=None, reason=None), "action", "reason")


def time_of_a_revision(scene):
    return other(scene.change_revision(2, created_at=1), "created_at")


def author_of_a_revision(scene):
    return other(scene.change_revision(2, created_by=scene.version("A", 1)["created_by"]), "created_by")


def record_of_a_revision(scene):
    return other(scene.change_revision(2, record_id=new_id()), "record_id")


def source_of_a_copy(scene):
    return other(scene.change_revision(6, copied_from=None), "copied_from")


def revision_moved(scene):
    scene.change_revision(2, rev=99)
    return missing(f"revision 2 of environment {scene.prod}")


def revision_removed(scene):
    scene.run(delete(revision).where(revision.c.environment_id == scene.prod, revision.c.rev == 2))
    return missing(f"revision 2 of environment {scene.prod}")


def revision_added(scene):
    row = {"environment_id": scene.prod, "rev": 99, "action": "secret.batch", "created_at": 1}
    scene.run(insert(revision), **row)
    return untold(f"revision 99 of environment {scene.prod}")


TAMPERINGS = [
    revision_of_a_version, author_of_a_version, author_of_a_version_removed, time_of_a_version,
    origin_removed, origin_of_a_rollback_changed, origin_of_a_copy_changed, origin_of_a_restore_changed,
    origin_given_to_a_new_value, older_version_removed, version_added, tombstone_made_a_value,
    value_made_a_tombstone, action_of_a_revision, reason_of_a_revision, reason_of_a_revision_removed,
    action_and_reason_of_a_revision_removed, time_of_a_revision, author_of_a_revision,
    record_of_a_revision, source_of_a_copy, revision_moved, revision_removed, revision_added,
]  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda one: one.__name__)
def test_a_rewritten_history_is_named_by_its_version_or_revision(scene, tampering):
    assert scene.problems() == []
    wanted = tampering(scene)
    found = scene.problems()
    assert wanted in found


def test_history_rewritten_so_that_a_restore_writes_a_leaked_value_is_named(vault, service, secretsvc):
    spy = write_by_another(vault, service)
    vault.set(UNRELATED="x")
    seal(service)
    [prod] = service.rows(environment, environment.c.slug == "prod")
    admin = service.identity_id("root@example.com")
    [key] = service.rows(secret, secret.c.key == "A")
    first = and_(secret_version.c.secret_id == key["id"], secret_version.c.version == 1)
    second = and_(secret_version.c.secret_id == key["id"], secret_version.c.version == 2)
    assert vault.get("secrets:export?rev=3").json["secrets"]["A"] == "rotated"
    # The leaked value is the newest of revision 3, and the other writer wrote nothing.
    service.execute(update(secret_version).where(second).values(rev=1, created_by=admin))
    service.execute(update(secret_version).where(first).values(rev=2))
    of_spy = (
        revision.c.created_by == select(revision.c.created_by).where(revision.c.rev == 2).scalar_subquery()
    )
    service.execute(update(revision).where(of_spy, revision.c.rev == 2).values(created_by=admin, reason=None))
    assert vault.get("secrets:export?rev=3").json["secrets"]["A"] == "leaked"
    assert spy != str(admin)
    done = secretsvc("audit", "verify", "--ini", INI)
    assert done.returncode == 1
    within = f"of environment {prod['id']}"
    for line in (
        other(f"version 1 of key A {within}", "rev"),
        other(f"version 2 of key A {within}", "rev, created_by"),
        other(f"revision 2 {within}", "reason, created_by"),
    ):
        assert f"database: {line}\n" in done.stdout
