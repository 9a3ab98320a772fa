"""Ways to tamper with the database by SQL, and what a verification says of each.

Whoever tampers may do everything in the database, has no master key, and cannot reach the verifier key and
the checkpoints that the auditor keeps.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.engine import set_mode
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.sealedlog.models import audit_head, audit_pruned, audit_seal, audit_signer, audit_unsealed
from secretsvc.sealedlog.rules.leaves import leaf_of
from secretsvc.sealedlog.rules.signer import find_signer, private_key
from secretsvc.sealedlog.verification.verify import verify_database
from secretsvc.secrets.models import secret
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.merkle import leaf_hash, root_of
from secretsvc.transparency.signed_note import Checkpoint, Verifier, public_key_of, read_checkpoint, sign

pytestmark = pytest.mark.both_engines

#: The index that is tampered with, and the next.
AT, NEXT = 4, 5


class Scene(SimpleNamespace):
    """A service with a sealed log, the heads at two times, and what a writer to the database does."""

    connection: Connection

    def run(self, statement, **values):
        return self.connection.execute(statement, values or None)

    def first(self, table, **named):
        conditions = [table.c[name] == value for name, value in named.items()]
        return dict(self.run(select(table).where(*conditions)).mappings().one())

    def record_at(self, position):
        return self.first(audit_seal, position=position)["record_id"]

    def cut(self, size):
        """Only the first so many records are left."""
        gone = select(audit_seal.c.record_id).where(audit_seal.c.position >= size)
        self.run(delete(audit_record).where(audit_record.c.id.in_(gone)))
        self.run(delete(audit_seal).where(audit_seal.c.position >= size))

    def own_head(self, name="secretsvc", key=None):
        """A head of what is sealed now, by the service's own key or another."""
        order = select(audit_seal.c.leaf_hash).order_by(audit_seal.c.position)
        hashes = self.run(order).scalars().all()
        key = key or private_key(self.ring, find_signer(self.connection))
        note = sign(name, key, Checkpoint(name, len(hashes), root_of(hashes)).body)
        self.run(update(audit_head).values(size=len(hashes), checkpoint=note))


@pytest.fixture
def scene(vault, service):
    admin = vault.client
    ids = {
        name: admin.post("/identities", {"kind": "user", "subject": f"{name}@example.com"}, 201).json["id"]
        for name in ("ada", "bob")
    }
    scope = {"scope_type": "project", "project": "shop", "identity_id": ids["ada"]}
    ids["grant"] = admin.post("/grants", {**scope, "role": "reader"}, 201).json["id"]
    second = admin.post("/grants", {**scope, "role": "admin"}, 201).json["id"]
    [removed] = [row for row in service.rows(grant) if str(row["id"]) == second]
    admin.delete(f"/grants/{second}")
    admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201)
    admin.patch(f"/identities/{ids['bob']}", {"disabled": True})
    admin.post("/projects", {"slug": "other", "name": "Other"}, 201)
    vault.batch(set={"A": "one"}, descriptions={"A": "of A"})
    vault.get("secrets/A")
    seal(service)
    [older] = service.rows(audit_head)
    vault.set(A="two")
    vault.set(A="three")
    seal(service)
    [newest] = service.rows(audit_head)
    ring = service.app.registry.load_ring()
    with service.engine.connect() as connection:
        writer = set_mode(connection, Mode.WRITE)
        with writer.begin() as transaction:
            scene = Scene(connection=writer, ring=ring, older=older, newest=newest, removed=removed, ids=ids)
            scene.prod = scene.first(environment, slug="prod")["id"]
            yield scene
            transaction.rollback()


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def not_as_signed(first, last):
    return f"index {first} to {last}: something in there is not what the checkpoint has that ends there"


def let(scene):
    """No trigger stands in the way."""
    tables = (
        audit_record, audit_key, audit_seal, audit_unsealed, audit_head, audit_signer, audit_pruned,
    )  # fmt: skip
    if scene.connection.dialect.name == "postgresql":
        for table in tables:
            scene.run(text(f"ALTER TABLE {table.name} DISABLE TRIGGER USER"))
        return
    listed = text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit_%'")
    for name in scene.run(listed).scalars().all():
        scene.run(text(f"DROP TRIGGER {name}"))


def changed(scene):
    record = audit_record.c.id == scene.record_at(AT)
    scene.run(update(audit_record).where(record).values(reason="forged"))
    return f"index {AT}: the record is not the one that was sealed"


def deleted(scene):
    scene.run(delete(audit_record).where(audit_record.c.id == scene.record_at(AT)))
    return f"index {AT}: the record is missing"


def inserted(scene):
    forged = new_id()
    scene.run(insert(audit_record), **scene.first(audit_record, id=scene.record_at(AT)) | {"id": forged})
    return f"record {forged} is neither sealed nor waits to be"


def swapped(scene):
    """Each of two records stands where the other was sealed."""
    here, there = scene.record_at(AT), scene.record_at(NEXT)
    for position, record_id in ((AT, new_id()), (NEXT, here), (AT, there)):
        entry = audit_seal.c.position == position
        scene.run(update(audit_seal).where(entry).values(record_id=record_id))
    return f"index {AT}: the record is not the one that was sealed"


def reordered(scene):
    """Two records change positions, with their hashes."""
    for before, after in ((AT, 1000), (NEXT, AT), (1000, NEXT)):
        scene.run(update(audit_seal).where(audit_seal.c.position == before).values(position=after))
    return not_as_signed(0, scene.older["size"] - 1)


def truncated(scene):
    size = scene.newest["size"] - 1
    scene.cut(size)
    return f"index {size}: it is missing, and all up to {size}"


def put_back(scene):
    size = scene.older["size"]
    scene.cut(size)
    scene.run(update(audit_head).values(scene.older))
    return f"index {size}: it is missing, and all up to {scene.newest['size'] - 1}"


def version_pointer(scene):
    scene.run(update(secret).values(version=1))
    return f"key A of environment {scene.prod}: the log has another version"


def grant_moved(scene):
    moved = scene.first(identity, subject="bob@example.com")["id"]
    scene.run(update(grant).where(grant.c.scope_type == "project").values(identity_id=moved))
    return f"grant {scene.ids['grant']}: the log has another identity_id"


def grant_inserted(scene):
    forged = new_id()
    scene.run(insert(grant), **{**scene.removed, "id": forged, "role": "writer"})
    return f"grant {forged}: the log does not tell of it"


def old_grant_replayed(scene):
    scene.run(insert(grant), **scene.removed)
    return f"grant {scene.removed['id']}: the log does not tell of it"


def membership(scene):
    bob = scene.first(identity, subject="bob@example.com")["id"]
    crew = scene.first(group, slug="crew")["id"]
    scene.run(insert(group_member), group_id=crew, identity_id=bob, created_at=1)
    return f"member {bob} of group {crew}: the log does not tell of it"


def subject_renamed(scene):
    bob = identity.c.subject == "bob@example.com"
    scene.run(update(identity).where(bob).values(subject="mallory@example.com"))
    return f"identity {scene.ids['bob']}: the log has another subject"


def identity_enabled(scene):
    scene.run(update(identity).where(identity.c.disabled).values(disabled=False))
    return f"identity {scene.ids['bob']}: the log has another disabled"


def description(scene):
    scene.run(update(secret).values(description="of B"))
    return f"key A of environment {scene.prod}: the log has another description"


def environment_moved(scene):
    other = scene.first(project, slug="other")["id"]
    scene.run(update(environment).where(environment.c.slug == "prod").values(project_id=other))
    return f"environment {scene.prod}: the log has another project_id"


def signing_key_replaced(scene):
    forged = bytes(range(32))
    scene.run(update(audit_signer).values(public_key=public_key_of(forged)))
    scene.own_head(key=forged)
    return "the checkpoint is not signed by this key"


def checkpoint_replaced(scene):
    scene.run(update(audit_head).values(checkpoint=scene.older["checkpoint"]))
    return f"index {scene.older['size']}: 2 records are sealed that the checkpoint does not have"


def two_heads(scene):
    """A second history under the service's own key, as a service over a copy of the database makes it."""
    last = scene.newest["size"] - 1
    forged = leaf_hash(b"another")
    scene.run(update(audit_seal).where(audit_seal.c.position == last).values(leaf_hash=forged))
    scene.own_head()
    return not_as_signed(scene.older["size"], last)


def leaf_hashes_changed(scene):
    scene.run(update(audit_seal).where(audit_seal.c.position >= AT).values(leaf_hash=leaf_hash(b"forged")))
    return f"index {AT}: the record is not the one that was sealed"


def pruning_forged(scene):
    """A record of a pruning, which is sealed like every other, instead of the records themselves."""
    hashes = scene.run(select(audit_seal.c.leaf_hash).order_by(audit_seal.c.position)).scalars().all()
    told = {"before": 4_000_000_000_000, "count": AT, "size": AT, "digest": root_of(hashes[:AT]).hex()}
    said = f"secretsvc pruning/1\n{AT}\n{told['digest']}\n{told['before']}\n{AT}\n"
    detail = json.dumps({**told, "note": sign("secretsvc", bytes(range(32)), said)})
    record = {"id": new_id(), "action": "audit.prune", "detail": detail, "key": None, "given": None}
    scene.run(insert(audit_record), **scene.first(audit_record, id=scene.record_at(AT)) | record)
    [row] = scene.run(select(audit_record).where(audit_record.c.id == record["id"]))
    leaf = leaf_hash(leaf_of(row).data)
    scene.run(insert(audit_seal), position=len(hashes), record_id=row.id, leaf_hash=leaf)
    scene.run(delete(audit_unsealed))
    scene.own_head()
    gone = select(audit_seal.c.record_id).where(audit_seal.c.position < AT)
    scene.run(delete(audit_record).where(audit_record.c.id.in_(gone)))
    scene.run(insert(audit_pruned), id=1, position=AT, complete_since=told["before"])
    return "index 0: the record is missing"


def pruning_pretended(scene):
    """A reader is told that older records are in an export, and that nothing is known of before."""
    scene.run(insert(audit_pruned), id=1, position=AT, complete_since=1)
    return f"the first 0 records are pruned, and the database says that {AT} are"


def frontier_rewritten(scene):
    forged = bytes(len(scene.newest["frontier"]))
    scene.run(update(audit_head).values(frontier=forged))
    return "the tree that is stored is not the one that was signed last"


def reveal(scene):
    """The record of the value that was read, and its index."""
    found = scene.first(audit_record, action="secret.reveal")
    return found, scene.first(audit_seal, record_id=found["id"])["position"]


def read_of_another_key(scene):
    record, index = reveal(scene)
    scene.run(update(audit_record).where(audit_record.c.id == record["id"]).values(key="B"))
    return f"index {index}: its key, or what was given of it, is not what its detail says"


def read_that_is_not_found(scene):
    record, index = reveal(scene)
    hidden = {"key": None, "given": None}
    scene.run(update(audit_record).where(audit_record.c.id == record["id"]).values(hidden))
    return f"index {index}: its key, or what was given of it, is not what its detail says"


def read_inserted(scene):
    record, index = reveal(scene)
    same = {name: record[name] for name in ("environment_id", "identity_id", "created_at")}
    scene.run(insert(audit_key), record_id=record["id"], key="B", given=1, **same)
    return f"index {index}: its rows of audit_key are not what its detail says"


def read_of_nothing_inserted(scene):
    stray = new_id()
    scene.run(insert(audit_key), record_id=stray, key="B", environment_id=scene.prod, created_at=1)
    return f"record {stray} is not there, and audit_key has rows of it"


TAMPERINGS = [
    changed, deleted, inserted, swapped, reordered, truncated, put_back, version_pointer, grant_moved,
    grant_inserted, old_grant_replayed, membership, subject_renamed, identity_enabled, description,
    environment_moved, signing_key_replaced, checkpoint_replaced, two_heads, leaf_hashes_changed,
    pruning_forged, pruning_pretended, frontier_rewritten, read_of_another_key, read_that_is_not_found,
    read_inserted, read_of_nothing_inserted,
]  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda one: one.__name__)
def test_a_tampering_is_named_by_its_index_or_its_row(scene, tampering):
    verifier = Verifier("secretsvc", scene.first(audit_signer)["public_key"])
    kept = [read_checkpoint(one["checkpoint"], verifier) for one in (scene.older, scene.newest)]

    def told():
        return [*verify_database(scene.connection, Signers(verifier), kept, None, scene.ring)]

    assert told() == []
    let(scene)
    wanted = tampering(scene)
    found = told()
    assert any(line.startswith(wanted) for line in found), found
