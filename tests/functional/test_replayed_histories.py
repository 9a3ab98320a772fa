"""What a replay says of honest histories, and of the versions that are older than what it begins with."""

from __future__ import annotations

import base64
from hashlib import sha256
from itertools import islice
from pathlib import Path

import orjson
import pytest
from audited_writers import Writer, verified
from rotation import rotated
from secrets_client import overwrite
from sqlalchemy import and_, select, update

from secretsvc.audit.rules.records import write_record
from secretsvc.db.engine import snapshot, write_transaction
from secretsvc.deployment import audit, audit_prune
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.clock import now_ms
from secretsvc.sealedlog.models import ONLY, audit_head, audit_snapshot
from secretsvc.sealedlog.replay.comparison import read_state
from secretsvc.sealedlog.replay.snapshots import ADOPTED, adopt_state
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.signer import find_signer, private_key
from secretsvc.secrets.models import revision
from secretsvc.tables.projects import environment
from secretsvc.transparency.signed_note import sign

HOUR = 3_600_000
#: What a state of an earlier release does not have.
LATER_FIELDS = ("histories", "tokens", "tallies", "is_partial")


@pytest.fixture
def files(tmp_path):
    return Files(Path(tmp_path / "export"))


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def steps(service, count, name="writer"):
    """Goes through so many random changes, and seals them; the writer."""
    made = Writer(service.user(), name)
    for _ in islice(made, count):
        pass
    seal(service)
    return made


def problems(service, files=None):
    seal(service)
    return verified(service, files)


def as_before(content):
    """Return a state in the JSON of version 1."""
    fields = {name: held for name, held in orjson.loads(content).items() if name not in LATER_FIELDS}
    fields |= {"waiting": {}, "removed": [], "changed": {}}
    return orjson.dumps({**fields, "v": 1}, option=orjson.OPT_SORT_KEYS)


def note_as_before(service, size, content):
    with snapshot(service.engine) as connection:
        key = private_key(service.app.registry.load_ring(), find_signer(connection))
    digest = base64.b64encode(sha256(content).digest()).decode()
    return sign("secretsvc", key, f"secretsvc state/1\n{size}\n{digest}\n")


def adopt_as_before(service):
    """Adopts a state as an earlier release did."""
    seal(service)
    with snapshot(service.engine) as connection:
        content = as_before(read_state(connection, service.app.registry.load_ring()).to_json())
        size = connection.execute(select(audit_head.c.size)).scalar_one()
    note = note_as_before(service, size, content)
    detail = {"size": size, "sha256": sha256(content).hexdigest()}
    with write_transaction(service.engine) as connection:
        row = {"id": ONLY, "note": note, "content": content, "created_at": now_ms()}
        connection.execute(audit_snapshot.insert(), row)
        write_record(connection, SYSTEM, now_ms(), "by-a-test", ADOPTED, detail=detail)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["one", "two"])
def test_a_random_history_is_explained_before_and_after_it_is_adopted(service, admin, seed):
    made = steps(service, 40, seed)
    assert problems(service) == []
    assert adopt_state(service.engine, Sealing(service.app.registry.load_ring(), "secretsvc"), "by-a-test")
    assert problems(service) == []
    for _ in islice(made, 20):
        pass
    assert problems(service) == []


@pytest.mark.slow
def test_a_random_history_is_explained_after_the_master_key_was_rotated(service, admin):
    steps(service, 20)
    now = rotated(service)
    now.user().post("/admin/rekey", {"limit": 500})
    assert problems(now) == []


@pytest.mark.slow
def test_versions_that_are_older_than_a_pruning_are_compared(vault, service, files):
    vault.set(OLD="first")
    audit.export_to(service.app.registry, files)
    vault.set(OLD="second")
    steps(service, 10)
    pruned = prune(service, files)
    assert pruned.size > snapshot_size(service)
    assert problems(service, files) == []
    vault.rollback("OLD", 1)
    assert problems(service, files) == []
    overwrite(service, "OLD", version=1, created_by=None)
    assert problems(service, files) == [f"{version_of(service, 'OLD', 1)}: the log has another created_by"]
    service.execute(update(revision).where(is_revision(service, 2)).values(reason="forged"))
    assert f"revision 2 of environment {prod_of(service)}: the log has another reason" in problems(
        service, files
    )


@pytest.mark.slow
def test_after_a_state_of_an_earlier_release_what_is_older_is_unknown_and_the_rest_compared(
    vault, service, files
):
    vault.set(OLD="first")
    steps(service, 10)
    adopt_as_before(service)
    assert problems(service) == []
    vault.set(OLD="second")
    vault.rollback("OLD", 1)
    steps(service, 10, "another")
    assert problems(service) == []
    pruned = prune(service, files)
    kept = as_before(files.read(f"state/{pruned.size}.json"))
    files.write(f"state/{pruned.size}.json", kept)
    files.write(f"state/{pruned.size}.note", note_as_before(service, pruned.size, kept).encode())
    assert problems(service, files) == []
    vault.set(OLD="third")
    assert problems(service, files) == []
    overwrite(service, "OLD", version=4, created_by=None)
    assert problems(service, files) == [f"{version_of(service, 'OLD', 4)}: the log has another created_by"]


def test_what_is_added_or_changed_after_a_state_of_an_earlier_release_is_named(vault, service):
    vault.set(OLD="first", OTHER="x")
    adopt_as_before(service)
    vault.set(OLD="second")
    overwrite(service, "OLD", version=2, rev=1)
    overwrite(service, "OTHER", version=1, rev=2)
    assert problems(service) == [
        f"{version_of(service, 'OLD', 2)}: the log has another rev",
        f"{version_of(service, 'OTHER', 1)}: the log does not tell of it",
    ]


def test_a_revision_from_before_revisions_had_actions_is_explained_where_no_older_one_has_one(vault, service):
    """As migration 0004 has made the revisions of before."""
    vault.set(A="x")
    vault.set(A="y")
    vault.set(A="z")
    seal(service)
    first, second = (f"revision {rev} of environment {prod_of(service)}" for rev in (1, 2))
    nothing = {"action": None, "reason": None}
    service.execute(update(revision).where(is_revision(service, 1)).values(nothing))
    assert problems(service) == []
    service.execute(update(revision).where(is_revision(service, 3)).values(nothing))
    assert problems(service) == [f"{second.replace('2', '3', 1)}: the log has another action"]
    service.execute(update(revision).where(is_revision(service, 1)).values(created_by=None))
    assert f"{first}: the log has another action, created_by" in problems(service)


def prune(service, files):
    """Prunes all that is sealed; what was pruned."""
    registry = service.app.registry
    size = audit_prune._export_whole(registry, files)
    made = audit_prune._record(registry, files, now_ms() + HOUR, size)
    audit_prune._await_seal(registry, files, made)
    audit_prune._remove(service.engine, made)
    return made


def snapshot_size(service):
    """How many records the adopted state is of."""
    [row] = service.rows(audit_snapshot)
    return int(row["note"].split("\n")[1])


def prod_of(service):
    """The id of the vault's environment, which was made first."""
    return min(row["id"] for row in service.rows(environment, environment.c.slug == "prod"))


def version_of(service, key, number):
    return f"version {number} of key {key} of environment {prod_of(service)}"


def is_revision(service, rev):
    return and_(revision.c.environment_id == prod_of(service), revision.c.rev == rev)
