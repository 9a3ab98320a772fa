"""An export in several folders: one is closed, and the next begins where it ends."""

from __future__ import annotations

import random
import shutil
from base64 import b64decode
from contextlib import nullcontext as does_not_raise
from itertools import islice
from pathlib import Path

import pytest
from audited_writers import Writer
from doc_blocks import blocks
from processes import ROOT
from resource_fields import log

from secretsvc.db.engine import snapshot
from secretsvc.deployment import audit as auditing
from secretsvc.deployment import audit_export, audit_prune
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.models import audit_pruned, audit_seal
from secretsvc.sealedlog.retention.boundaries import by_folder, folder_of, wrong_order
from secretsvc.sealedlog.retention.exported import compare_hashes
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.key_replacement import replace_signing_key
from secretsvc.sealedlog.verification.verify import verify_database, verify_files
from secretsvc.transparency.signed_note import read_checkpoint

INI = "production.ini"
WELL = "All is as it was sealed.\n"
#: Records of long ago, which have the first positions of the log.
OLD = 300
#: When a record of the second folder was made, in milliseconds.
LATER = 4_000_000_000_000


def add_old(service):
    log(service, OLD, ids=[earliest_id(1000 * number) for number in range(OLD)])


def signers_of(service, files=None):
    with snapshot(service.engine) as connection:
        return auditing.own_key(connection, service.app.registry, None, files)


def problems(service, *folders, older=()):
    """What `audit verify` says of folders, in their order."""
    signers = signers_of(service, folders[-1])
    wanted = by_folder(folders, signers, older)
    each = [verify_files(one, signers, mine) for one, mine in zip(folders, wanted, strict=True)]
    return [line for found in (wrong_order(folders), *each) for line in found]


def problems_of_database(service, *folders):
    signers, ring = signers_of(service, folders[-1]), service.app.registry.load_ring()
    with snapshot(service.engine) as connection:
        found = [*verify_database(connection, signers, [], folders[-1], ring)]
        return [*found, *(line for one in folders[:-1] for line in compare_hashes(connection, signers, one))]


def head_of(service, files):
    return read_checkpoint(files.text("checkpoint"), signers_of(service))


def export(service, files):
    return auditing.export_to(service.app.registry, files)


def close(service, files):
    return audit_export.close_export(service.app.registry, files)


def begin(service, files, closed):
    audit_export.begin_export(service.app.registry, files, closed)
    return export(service, files)


def prune(service, before, *folders):
    """Prunes, as the command does; the first index that is left."""
    registry, [*closed, files] = service.app.registry, folders
    size = audit_prune._export_whole(registry, files, closed)
    found = audit_prune._record(registry, files, before, size, closed)
    audit_prune._await_seal(registry, files, found)
    audit_prune._remove(service.engine, found)
    return found


@pytest.fixture
def folders(tmp_path):
    """Three folders, in none of which there is anything."""
    return [Files(Path(tmp_path / name)) for name in ("one", "two", "three")]


@pytest.fixture
def filled(service, request):
    """A log of more than a full file of entries."""
    add_old(service)
    vault = request.getfixturevalue("vault")
    vault.set(A="x", B="y")
    vault.get("secrets/A")
    return vault


@pytest.fixture
def chain(filled, service, folders):
    """Three folders of one export, of which the first two are closed."""
    one, two, three = folders
    for files, following in ((one, two), (two, three)):
        export(service, files)
        filled.set(A=str(files.folder))
        log(service, created_at=LATER if files is two else 1)
        log(service, 300)
        close(service, files)
        begin(service, following, files)
    log(service, 100)
    export(service, three)
    return folders


@pytest.mark.slow
@pytest.mark.both_engines
def test_an_export_is_closed_and_goes_on_in_another_folder(filled, service, secretsvc, folders):
    def audit(*arguments, status=0):
        done = secretsvc("audit", *map(str, arguments))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    one, two = (files.folder for files in folders[:2])
    audit("export", INI, one)
    log(service, 250)
    closed = audit("export", INI, one, "--close")
    assert closed.startswith(f"{one} is closed. The next folder begins at index 512.\n")
    for again in (("export", INI, one), ("export", INI, one, "--close")):
        assert f"{one} is closed: export into the folder that goes on from it" in audit(*again, status=1)
    assert "two commands" in audit("export", INI, two, "--close", "--after", one, status=2)
    assert f"entries are in {two}" in audit("export", INI, two, "--after", one)
    log(service, 10)
    audit("export", INI, two)
    key = (two / "key").read_text().strip()
    names = [str(path.relative_to(two)) for path in (two / "tile" / "entries").rglob("*")]
    assert not [name for name in names if name.endswith("/000")]
    alone = audit("verify", two, "--key", key)
    assert f"{two} begins at index 512: older records are not verified." in alone
    assert WELL in alone
    assert audit("verify", one, two, "--key", key) == WELL
    assert audit("verify", "--ini", INI, "--key", key, one, two).startswith(WELL)
    before = ("prune", INI, "--before", "2020-01-01")
    refused = audit(*before, "--export", two, status=1)
    assert f"index 0 to 511 are in the export before {two}: name that, too, in front" in refused
    assert service.audit("audit.prune") == []
    assert f"{one} is closed" in audit(*before, "--export", two, "--export", one, status=1)
    assert "300 records are pruned" in audit(*before, "--export", one, "--export", two)
    assert [row["position"] for row in service.rows(audit_pruned)] == [OLD]
    assert audit("verify", "--ini", INI, "--key", key, two).startswith(WELL)
    assert "Nothing is left to prune" in audit(*before, "--export", one, "--export", two)


@pytest.mark.slow
def test_all_folders_verify_in_their_order_and_each_from_where_it_begins(chain, service):
    _one, two, three = chain
    assert problems(service, *chain) == problems(service, two, three) == []
    assert [problems(service, files) for files in chain] == [[], [], []]
    assert problems_of_database(service, *chain) == problems_of_database(service, three) == []


@pytest.mark.slow
def test_folders_that_are_swapped_missing_or_not_closed_are_named(chain, service):
    one, two, three = chain
    begins = f"{three.folder} does not begin where {one.folder} was closed"
    assert problems(service, one, three) == [begins]
    told = f"{three.folder} is not closed, so that {two.folder} does not go on from it"
    assert problems(service, one, three, two) == [begins, told]
    assert problems(service, two, one) == [f"{one.folder} does not begin where {two.folder} was closed"]


#: By what is done to the second of three folders: the file, what is put there, what is said of it.
TAMPERED = {
    "a changed beginning": ("begin", b"secretsvc closed/1\n", "begin is not signed by this key"),
    "a changed end": ("closed", b"secretsvc closed/1\n", "closed is not signed by this key"),
    "no beginning": ("begin", None, "two does not begin where"),
    "no end": ("closed", None, "two is not closed"),
    "another state": (
        "state/512.json",
        b"{}",
        "index 512: the state that was kept where the export begins or ends is another",
    ),
    "no state": (
        "state/512.json",
        None,
        "index 512: the state that was kept where the export begins or ends is another",
    ),
    "other hashes to its left": ("tile/1/000.p/3", bytes(96), "index 0 to 511: something in there is not"),
    "no hashes to its left": ("tile/1/000.p/3", b"", "tile/1/000.p/3 is missing or too short"),
}


@pytest.mark.slow
def test_the_note_of_a_closed_export_is_as_its_page_shows(chain):
    (shown,) = blocks((ROOT / "docs" / "audit.md").read_text("utf-8"), "An export", "text")
    lines = (chain[0].folder / "closed").read_text().partition("\n\n")[0].splitlines()
    assert lines[0] == shown.splitlines()[0]
    assert int(lines[1]) % 256 == 0
    assert [len(b64decode(one)) for one in lines[2:]] == [32, 32]
    assert len(shown.splitlines()) == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TAMPERED)
def test_each_file_that_leads_from_folder_to_folder_is_verified(chain, service, kind):
    name, content, told = TAMPERED[kind]
    path = chain[1].folder / name
    assert path.exists()
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ValueError, match=told) if name == "begin" and content else does_not_raise():
        found = problems(service, *chain)
        assert [line for line in found if told in line], found
        assert found != problems(service, chain[2])


@pytest.mark.slow
def test_a_beginning_of_another_size_or_by_another_key_is_none(chain, service):
    one, two, _three = chain
    note = two.text("begin")
    (two.folder / "closed").unlink()
    for forged in (note.replace("512", "768"), note.replace("512", "100"), one.text("checkpoint"), "x"):
        two.write("begin", forged.encode())
        with pytest.raises(ValueError, match="begin is not signed by this key"):
            problems(service, *chain)
        with pytest.raises(ValueError, match="begin is not signed by this key"):
            export(service, two)


@pytest.mark.slow
def test_a_folder_cannot_begin_in_two_places_or_over_another_export(chain, service, tmp_path):
    one, two, three = chain
    assert begin(service, three, two) == head_of(service, three)
    for files in (three, Files(tmp_path / "other")):
        if files is not three:
            export(service, files)
        with pytest.raises(ValueError, match="is another export: name a new folder"):
            begin(service, files, one)
    with pytest.raises(ValueError, match="is not closed: use `audit export --close` first"):
        begin(service, Files(tmp_path / "new"), three)
    two.write("tile/1/000.p/3", bytes(96))
    with pytest.raises(ValueError, match="two is damaged: its tree is not that of its note"):
        begin(service, Files(tmp_path / "new"), two)


@pytest.mark.slow
def test_a_checkpoint_from_before_a_folder_is_verified_with_the_folder_that_has_it(chain, service, tmp_path):
    _one, two, three = chain
    older = head_of(service, chain[0])._replace(size=100)
    [found] = problems(service, *chain, older=[older])
    assert found == "index 0 to 99: something in there is not what the checkpoint has that ends there"
    [found] = problems(service, two, three, older=[older])
    assert found.startswith("the export begins at index 512, and a checkpoint has 100 entries: name the")
    heads = [head_of(service, files) for files in chain]
    assert problems(service, *chain, older=heads) == []


@pytest.mark.slow
def test_a_folder_is_closed_only_once_it_has_a_full_file_of_entries(vault, service, folders):
    one, two, three = folders
    vault.set(A="x")
    with pytest.raises(ValueError, match="it can be closed once it has 256"):
        close(service, one)
    log(service, 260)
    assert close(service, one).size == 256
    begin(service, two, one)
    with pytest.raises(ValueError, match="it can be closed once it has 512"):
        close(service, two)
    assert not (two.folder / "closed").exists()
    log(service, 300)
    # What was adopted has more records than the first file of entries.
    assert adopted_late(service, three) == []


def adopted_late(service, files):
    export(service, files)
    return problems(service, files)


def test_a_damaged_export_is_not_closed(filled, service, folders):
    [files, *_] = folders
    export(service, files)
    entries = files.read("tile/entries/000")
    files.write("tile/entries/000", entries[:100] + b"x" + entries[101:])
    with pytest.raises(ValueError, match="nothing was closed, because the export is damaged: index 0"):
        close(service, files)
    assert files.read("closed") is None


class Crash(BaseException):
    """Stands for the end of a process."""


@pytest.mark.slow
def test_a_beginning_that_ends_at_any_file_is_no_export_and_goes_on(filled, service, folders, monkeypatch):
    one, two, _three = folders
    export(service, one)
    log(service, 300)
    close(service, one)
    write = Files.write
    for most in range(30):
        numbers = iter(range(most))

        def crashing(self, path, content, numbers=numbers):
            if next(numbers, None) is None:
                raise Crash
            write(self, path, content)

        monkeypatch.setattr(Files, "write", crashing)
        try:
            audit_export.begin_export(service.app.registry, two, one)
            break
        except Crash:
            monkeypatch.setattr(Files, "write", write)
            if most:
                with pytest.raises(ValueError, match="is incomplete: begin it again, by --after"):
                    export(service, two)
    monkeypatch.setattr(Files, "write", write)
    assert most > 5
    export(service, two)
    assert problems(service, one, two) == []


@pytest.mark.slow
def test_folders_from_before_and_after_another_signing_key_verify_by_either(filled, service, folders):
    one, two, three = folders
    export(service, one)
    log(service, 300)
    close(service, one)
    old = one.text("key").strip()
    begin(service, two, one)
    replace_signing_key(
        service.engine, Sealing(service.app.registry.load_ring(), "secretsvc"), "made-by-a-test"
    )
    log(service, 300)
    close(service, two)
    begin(service, three, two)
    new = three.text("key").strip()
    assert old != new
    assert problems(service, *folders) == []
    for key in (old, new):
        with snapshot(service.engine) as connection:
            signers = auditing.own_key(connection, service.app.registry, key, three)
        assert [line for files in folders for line in verify_files(files, signers, [])] == []


@pytest.mark.slow
def test_a_pruning_rests_on_the_folder_that_has_its_records(chain, service):
    one, two, three = chain
    for before, source in ((1_000_000, one), (LATER, two)):
        states = {path.name for path in (three.folder / "state").iterdir()}
        found = prune(service, before, *chain)
        assert found.digest == source.root(found.size, head_of(service, source).size).hex()
        assert len({path.name for path in (three.folder / "state").iterdir()} - states) == 2
        assert problems(service, *chain) == []
        assert problems_of_database(service, *chain) == problems_of_database(service, three) == []
    assert 512 < found.size < 768


@pytest.mark.slow
def test_a_pruning_reads_only_the_folders_that_have_what_is_left(chain, service):
    one, two, three = chain
    registry = service.app.registry
    prune(service, LATER, *chain)
    (one.folder / "tile" / "entries" / "000").unlink()
    assert audit_prune._export_whole(registry, three, [one, two]) == audit_prune._export_whole(
        registry, three, [two]
    )
    for wrong, told in (([], "are in the export before"), ([two, one], "does not begin where")):
        with pytest.raises(ValueError, match=told):
            audit_prune._export_whole(registry, three, wrong)
    entries = two.folder / "tile" / "entries" / "002"
    entries.write_bytes(entries.read_bytes()[:-1])
    with pytest.raises(ValueError, match="nothing was pruned, because the export is damaged: index 767"):
        audit_prune._export_whole(registry, three, [two])


@pytest.mark.slow
def test_a_pruning_that_was_interrupted_goes_on_with_the_folders_that_have_its_records(chain, service):
    _one, two, three = chain
    registry = service.app.registry
    size = audit_prune._export_whole(registry, three, chain[:2])
    found = audit_prune._record(registry, three, LATER, size, chain[:2])
    audit_prune._await_seal(registry, three, found)
    state = three.folder / "state" / f"{found.size}.json"
    state.unlink()
    with pytest.raises(ValueError, match="are in the export before"):
        audit_prune._finish(registry, three, found)
    audit_prune._finish(registry, three, found, [two])
    assert state.exists()
    assert problems_of_database(service, three) == []


@pytest.mark.slow
def test_the_state_of_a_pruning_goes_along_into_the_next_folder(chain, vault, service, tmp_path):
    _one, _two, three = chain
    found = prune(service, LATER + 1, *chain)
    assert problems_of_database(service, three) == []
    log(service, 300)
    close(service, three)
    four = Files(tmp_path / "four")
    begin(service, four, three)
    assert (four.folder / "state" / f"{found.size}.note").exists()
    vault.set(D="x")
    assert problems(service, *chain, four) == problems_of_database(service, four) == []
    service.execute("UPDATE identity SET disabled = true WHERE subject = 'root@example.com'")
    [line] = problems_of_database(service, four)
    assert str(service.identity_id("root@example.com")) in line


def merged(folders, tmp_path):
    """All folders of an export as one, as readers of others need it."""
    whole = Files(tmp_path / "merged")
    for files in folders:
        shutil.copytree(files.folder, whole.folder, dirs_exist_ok=True)
    for name in ("begin", "closed"):
        (whole.folder / name).unlink(missing_ok=True)
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["one", "two"])
def test_a_random_history_verifies_in_folders_as_in_one_wherever_it_is_cut(service, vault, tmp_path, seed):
    chance = random.Random(seed)  # noqa: S311
    whole, folders = Files(tmp_path / "whole"), [Files(tmp_path / "0")]
    vault.set(A="x")
    writer = Writer(service.user(), seed)
    for number in range(1, 5):
        for files in (whole, folders[-1]):
            export(service, files)
        for _ in islice(writer, 5):
            pass
        log(service, chance.randrange(256, 400))
        close(service, folders[-1])
        folders.append(Files(tmp_path / str(number)))
        begin(service, folders[-1], folders[-2])
    for files in (whole, folders[-1]):
        export(service, files)
    assert problems(service, *folders) == problems(service, whole) == []
    assert problems_of_database(service, *folders) == problems_of_database(service, whole) == []
    total = head_of(service, whole).size
    signers = signers_of(service)
    for size in [chance.randrange(1, total) for _ in range(50)]:
        source = folder_of(folders, signers, size)
        assert source.root(size, head_of(service, source).size) == whole.root(size, total)
    assert problems(service, merged(folders, tmp_path)) == []
    index = chance.randrange(total // 256 * 256)
    for files in (whole, folder_of(folders, signers, index)):
        path = f"tile/entries/{index // 256:03}"
        files.write(path, files.read(path)[:-1])
    last = f"index {index // 256 * 256 + 255}: its entry is missing"
    assert problems(service, whole)[0] == last
    assert last in problems(service, *folders)


@pytest.mark.slow
def test_a_hash_that_was_changed_is_named_by_the_closed_folder_that_has_it(chain, service):
    forged = audit_seal.update().where(audit_seal.c.position == 7)
    off = {
        "sqlite": "DROP TRIGGER audit_seal_no_update",
        "postgresql": "ALTER TABLE audit_seal DISABLE TRIGGER USER",
    }[service.engine.name]
    service.execute(off)
    service.execute(forged.values(leaf_hash=bytes(32)))
    told = "index 7: the hash is not the one that was exported"
    assert told in problems_of_database(service, *chain)
    assert told not in problems_of_database(service, chain[2])
