"""`secretsvc-server audit replace-key`: another key signs the log, and a note of both keys says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from alembic.config import Config
from databases import ROOT
from pages import Browser
from resource_fields import log
from rotation import NEW_KEY, rotated
from secrets_client import Vault
from service import Service, arrange
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tampering import tampered

from alembic import command
from secretsvc.commands import system_call
from secretsvc.db.engine import make_engine, snapshot
from secretsvc.deployment import audit as auditing
from secretsvc.deployment import audit_prune
from secretsvc.kernel.errors import ServerMisconfigured, UnknownKid
from secretsvc.sealedlog.models import audit_former_signer, audit_head, audit_signer
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.rules import sealing, signer
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.key_replacement import replace_signing_key
from secretsvc.sealedlog.rules.sealing import seal_some
from secretsvc.sealedlog.rules.signer import private_key
from secretsvc.sealedlog.verification.verify import verify_database, verify_files
from secretsvc.transparency.key_succession import Replacement, read_replacement
from secretsvc.transparency.signed_note import Verifier, public_key_of, read_checkpoint, read_verifier, sign

pytestmark = pytest.mark.both_engines

INI = "production.ini"
WELL = "All is as it was sealed.\n"
OLDEST = "/audit?order=oldest"


@pytest.fixture
def sealed(vault, service):
    """A service whose records are sealed."""
    vault.set(A="x")
    seal(service)
    return service


@pytest.fixture
def audit(secretsvc):
    """Runs a subcommand: what it prints, and what it says beside that."""

    def run(*arguments, status=0):
        done = secretsvc("audit", *map(str, arguments))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout, done.stderr

    return run


@pytest.fixture
def files(tmp_path):
    return Files(Path(tmp_path / "export"))


def with_ring(service):
    return Sealing(service.app.registry.load_ring(), "secretsvc")


def seal(service):
    while seal_some(service.engine, with_ring(service), auditing.STEP):
        pass


def replace(service):
    return replace_signing_key(service.engine, with_ring(service), "made-by-a-test")


def key_of(service):
    return service.user().get("/audit/key").text


def problems(service, key=None, files=None, older=()):
    """What a verification by a key finds in the database, and in an export if there is one."""
    with snapshot(service.engine) as connection:
        signers = auditing.own_key(connection, service.app.registry, key, files)
        checkpoints = [read_checkpoint(one, signers) for one in older]
        ring = service.app.registry.load_ring()
        found = [*verify_database(connection, signers, checkpoints, files, ring)]
        return [*found, *([] if files is None else verify_files(files, signers, checkpoints))]


def head(service):
    return service.rows(audit_head)[0]["checkpoint"]


@pytest.mark.slow
def test_the_command_has_both_keys_sign_and_records_it_and_the_new_key_signs_on(sealed, audit):
    old, before = read_verifier(key_of(sealed)), head(sealed)
    size = len(sealed.audit())
    log(sealed, 2)
    printed, said = audit("replace-key", INI)
    assert f"after its first {size + 2} records" in said
    new = read_verifier(printed.strip())
    assert key_of(sealed) == new.text != old.text
    [row] = sealed.audit("audit.replace_key")
    detail = json.loads(row["detail"])
    assert (detail["old"], detail["new"], row["actor_subject"]) == (old.text, new.text, "system")
    replaced = read_replacement(detail["note"])
    assert (replaced.old, replaced.new, replaced.at.size) == (old, new, size + 2)
    [former] = sealed.rows(audit_former_signer)
    assert (former["public_key"], former["note"]) == (old.public_key, detail["note"])
    assert read_checkpoint(head(sealed), new).size == size + 3
    assert old.has_signed(head(sealed)) is None
    assert problems(sealed, old.text, older=[before]) == problems(sealed, new.text, older=[before]) == []
    page = Browser(sealed).open("/audit")
    assert "replaced the signing key of the audit log" in page.text


def test_the_head_at_the_replacement_is_read_by_who_knows_either_key_alone(sealed):
    old = read_verifier(key_of(sealed))
    replaced = replace(sealed)
    assert read_checkpoint(head(sealed), old) == read_checkpoint(head(sealed), replaced.new) == replaced.at
    assert problems(sealed, old.text) == problems(sealed, replaced.new.text) == []


def test_before_anything_is_sealed_there_is_no_key_to_replace(admin, service):
    with pytest.raises(ValueError, match="nothing is sealed yet"):
        replace(service)
    assert service.audit("audit.replace_key") == []


def test_without_the_old_keys_master_key_or_with_one_that_is_not_adopted_nothing_is_replaced(sealed):
    before = [sealed.rows(audit_signer), sealed.audit(), head(sealed)]
    with pytest.raises(UnknownKid):
        replace(sealed.restarted(MASTER_KEY=NEW_KEY))
    with pytest.raises(ServerMisconfigured):
        replace(rotated(sealed))
    assert [sealed.rows(audit_signer), sealed.audit(), head(sealed)] == before
    assert sealed.rows(audit_former_signer) == []


@pytest.mark.slow
def test_other_processes_sign_with_the_new_key_from_their_next_step(sealed):
    other = sealed.restarted()
    log(sealed)
    assert other.app.registry.audit_sealer.step() == 1
    replaced = replace(sealed)
    log(sealed)
    assert sum(iter(other.app.registry.audit_sealer.step, 0)) == 2
    assert read_checkpoint(head(sealed), replaced.new).size == len(sealed.audit())
    assert key_of(other) == replaced.new.text


@pytest.mark.slow
def test_no_step_signs_with_a_key_that_is_replaced_meanwhile(sealed, monkeypatch):
    log(sealed)
    prepared, found = sealing._prepared, []

    def late(*arguments):
        batch = prepared(*arguments)
        monkeypatch.setattr(sealing, "_prepared", prepared)
        if sealed.engine.name == "sqlite":
            found.append(replace(sealed))
        else:
            monkeypatch.setattr(sealing, "_LIMIT", text("SET LOCAL lock_timeout = '100ms'"))
            with pytest.raises(DBAPIError, match="lock timeout"):
                replace(sealed)
        return batch

    monkeypatch.setattr(sealing, "_prepared", late)
    done = seal_some(sealed.engine, with_ring(sealed), auditing.STEP)
    monkeypatch.undo()
    assert done == (0 if found else 1)
    replaced = found[0] if found else replace(sealed)
    seal(sealed)
    assert read_checkpoint(head(sealed), replaced.new).size == len(sealed.audit())
    assert problems(sealed) == problems(sealed, replaced.old.text) == []


def test_a_rotation_that_has_read_the_old_key_does_not_put_it_over_the_new_one(sealed, monkeypatch):
    if sealed.engine.name == "sqlite":
        pytest.skip("one writer at a time")
    now, ensure_key_may_seal = rotated(sealed), signer.ensure_key_may_seal

    def late(call):
        replace(sealed)
        ensure_key_may_seal(call)

    monkeypatch.setattr(signer, "ensure_key_may_seal", late)
    with system_call(now.app.registry, writes=True) as call:
        signer.move_signer(call)
    seal(sealed)
    assert problems(sealed) == []


def test_a_rotation_moves_the_new_key(sealed):
    replace(sealed)
    key = key_of(sealed)
    now = rotated(sealed)
    now.user().post("/admin/rekey", {"limit": 500})
    alone = sealed.restarted(MASTER_KEY=NEW_KEY)
    log(sealed)
    seal(alone)
    assert key_of(alone) == key
    assert problems(alone, key) == []


def test_cursors_of_before_go_on_after_replacements_and_a_rotation(sealed):
    cursor = sealed.user().get(f"{OLDEST}&limit=500").json["next_cursor"]
    replace(sealed)
    now = rotated(sealed)
    now.user().post("/admin/rekey", {"limit": 500})
    replace(now)
    seal(now)
    items = now.user().get(f"{OLDEST}&cursor={cursor}").json["items"]
    replaced, moved = "audit.replace_key", ["keyring.adopt", "keyring.rekey"]
    assert [item["action"] for item in items] == [replaced, *moved, replaced]


@pytest.mark.slow
def test_whichever_key_is_kept_the_log_its_exports_and_older_checkpoints_are_verified(sealed, audit, files):
    keys, heads = [key_of(sealed)], [head(sealed)]
    audit("export", INI, files.folder)
    for _ in range(2):
        replace(sealed)
        keys.append(key_of(sealed))
        log(sealed, 3)
        seal(sealed)
        heads.append(head(sealed))
    assert problems(sealed, files=files) == []
    audit("export", INI, files.folder)
    for key in keys:
        assert problems(sealed, key, files, heads) == []
    older = [files.folder.parent / f"head-{number}" for number in range(3)]
    for path, note in zip(older, heads, strict=True):
        path.write_text(note)
    options = [option for path in older for option in ("--checkpoint", path)]
    said, beside = audit("verify", files.folder, "--key", keys[0], *options)
    assert (said, keys[2] in beside) == (WELL, True)
    assert audit("verify", files.folder, "--key", keys[2], *options) == (WELL, "")
    assert (files.folder / "key").read_text().strip() == keys[2]
    assert len(files.notes()) == 2


def test_a_former_key_counts_for_no_checkpoint_beyond_its_replacement(sealed, files):
    ring = sealed.app.registry.load_ring()
    with snapshot(sealed.engine) as connection:
        stolen = private_key(ring, auditing.find_signer(connection))
    replaced = replace(sealed)
    log(sealed)
    seal(sealed)
    auditing.export_to(sealed.app.registry, files)
    forged = sign("secretsvc", stolen, read_checkpoint(head(sealed), replaced.new).body)
    assert read_checkpoint(forged, replaced.old)
    tampered(sealed, "UPDATE audit_head SET checkpoint = :forged", "audit_head", forged=forged)
    (files.folder / "checkpoint").write_text(forged)
    for key in (replaced.old.text, replaced.new.text):
        found = problems(sealed, key, files)
        assert len(found) == 2
        assert all("not signed by this key" in one for one in found)


@pytest.mark.slow
def test_a_key_that_was_replaced_without_a_note_is_named(sealed, files):
    key, former = key_of(sealed), sealed.rows(audit_signer)[0]
    replaced = replace(sealed)
    statement = "UPDATE audit_signer SET public_key = :former"
    tampered(sealed, statement, "audit_signer", former=former["public_key"])
    for trusted in (key, replaced.new.text):
        assert problems(sealed, trusted) == [
            "the signing key that is stored is not the one that signs the log"
        ]
    tampered(sealed, "UPDATE audit_signer SET public_key = :new", new=replaced.new.public_key)
    assert problems(sealed, key) == []
    tampered(sealed, "DELETE FROM audit_former_signer", "audit_former_signer")
    missing = "the log tells of the replacement of a signing key, and the note on that is missing"
    assert problems(sealed, replaced.new.text) == [missing]
    seal(sealed)
    assert problems(sealed, key) == ["the checkpoint is not signed by this key, or is none of this log"]


def test_a_note_that_the_log_does_not_tell_of_or_that_was_changed_is_named(sealed):
    replaced = replace(sealed)
    seal(sealed)
    hidden = "UPDATE audit_record SET detail = NULL WHERE action = 'audit.replace_key'"
    tampered(sealed, hidden, "audit_record")
    [record, *others] = problems(sealed)
    assert "the record is not the one that was sealed" in record
    assert others == [f"the log does not tell of the replacement of the signing key {replaced.old.text}"]
    tampered(sealed, "UPDATE audit_former_signer SET note = 'x'", "audit_former_signer")
    with pytest.raises(ValueError, match="not a note on the replacement"):
        problems(sealed)


def test_a_record_that_tells_of_a_note_by_others_is_no_alarm(sealed):
    stranger, other = bytes(32), bytes([1] * 32)
    keys = [read_verifier(Verifier("secretsvc", public_key_of(one)).text) for one in (stranger, other)]
    at = read_checkpoint(head(sealed), read_verifier(key_of(sealed)))
    theirs = sign("secretsvc", stranger, Replacement(at, *keys).body, other)
    assert read_replacement(theirs).at == at
    ours = replace(sealed).old.text
    for detail in (None, "[]", '{"note":"any"}', '{"note":5}', json.dumps({"note": theirs})):
        log(sealed, action="audit.replace_key", detail=detail)
    seal(sealed)
    assert problems(sealed) == problems(sealed, ours) == []


@pytest.mark.slow
def test_states_that_a_former_key_has_signed_are_replayed_from(sealed, vault, files):
    registry = sealed.app.registry
    size = audit_prune._export_whole(registry, files)
    found = audit_prune._record(registry, files, 4_000_000_000_000, size)
    audit_prune._await_seal(registry, files, found)
    audit_prune._finish(registry, files, found)
    key = key_of(sealed)
    replaced = replace(sealed)
    vault.set(B="y")
    seal(sealed)
    auditing.export_to(registry, files)
    for trusted in (key, replaced.new.text):
        assert problems(sealed, trusted, files) == []
    sealed.execute("UPDATE environment SET slug = 'other' WHERE slug = 'dev'")
    assert len(problems(sealed, key, files)) == 1


REFUSED = [
    "UPDATE audit_signer SET public_key = :other",
    "UPDATE audit_signer SET public_key = :former",
    "INSERT INTO audit_former_signer VALUES (:other, 'x', 1)",
    "INSERT INTO audit_former_signer VALUES (:former, 'x', 1)",
    "UPDATE audit_former_signer SET note = 'x'",
    "DELETE FROM audit_former_signer",
]
OF_ENGINE = {
    "sqlite": "INSERT OR REPLACE INTO audit_former_signer SELECT public_key, 'x', 1 FROM audit_former_signer",
    "postgresql": "TRUNCATE audit_former_signer",
}


def test_the_database_refuses_another_key_without_a_note_and_the_end_of_a_note(sealed):
    replaced = replace(sealed)
    tables = (audit_signer, audit_former_signer)
    before = [sealed.rows(table) for table in tables]
    named = {"other": bytes(32), "former": replaced.old.public_key}
    for statement in [*REFUSED, OF_ENGINE[sealed.engine.name]]:
        values = {name: named[name] for name in named if f":{name}" in statement}
        with pytest.raises(DBAPIError):
            sealed.execute(text(statement), *([values] if values else []))
        assert [sealed.rows(table) for table in tables] == before, statement


def test_the_database_refuses_that_a_former_key_signs_again(sealed):
    replaced = replace(sealed)
    sealed.execute("INSERT INTO audit_former_signer SELECT public_key, 'x', 1 FROM audit_signer")
    with pytest.raises(DBAPIError, match="the sealed log only grows"):
        sealed.execute(
            text("UPDATE audit_signer SET public_key = :former"), {"former": replaced.old.public_key}
        )
    assert key_of(sealed) == replaced.new.text


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_who_serves_may_not_replace_the_key_and_who_migrates_may(two_roles, issuer):
    owner_url, service_url = two_roles
    service, owner = Service(service_url, issuer), make_engine(owner_url)
    Vault(arrange(service, "shop", "prod")).set(A="x")
    seal(service)
    with pytest.raises(DBAPIError, match="permission denied for table audit_former_signer"):
        replace(service)
    replaced = replace_signing_key(owner, with_ring(service), "made-by-a-test")
    seal(service)
    assert key_of(service) == replaced.new.text
    assert problems(service, replaced.old.text) == []
    owner.dispose()
    service.close()


@pytest.mark.slow
def test_a_downgrade_forgets_the_notes_and_an_upgrade_has_them_of_the_log(sealed, database_url):
    keys = [replace(sealed).old.text for _ in range(2)]
    former = sealed.rows(audit_former_signer)
    config = Config(ROOT / "production.ini")
    config.attributes["url"] = database_url
    command.downgrade(config, "0014")
    with pytest.raises(DBAPIError):
        sealed.execute("UPDATE audit_signer SET public_key = envelope")
    command.upgrade(config, "head")
    assert sealed.rows(audit_former_signer) == former
    replace(sealed)
    seal(sealed)
    assert [problems(sealed, key) for key in (*keys, None)] == [[], [], []]


def test_the_page_of_operations_tells_which_key_signs_and_since_when(sealed):
    for _ in range(2):
        lines = Browser(sealed).open("/admin/keyring").html.find("section", {"aria-labelledby": "health"})
        key_id = read_verifier(key_of(sealed)).key_id.hex()
        assert f"Signed by key {key_id} since just now" in " ".join(lines.text.split())
        replace(sealed)
