"""`secretsvc-server audit`: the sealed log is verified and followed, and its export brought up to date."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click
from sqlalchemy import Connection, Engine

from secretsvc.db.engine import read_once, snapshot, write_transaction
from secretsvc.deployment.cli import INI, cli_errors, registry_of
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.sealedlog.replay.snapshots import adopt_state
from secretsvc.sealedlog.retention.boundaries import by_folder, first_of, wrong_order
from secretsvc.sealedlog.retention.export import export_log
from secretsvc.sealedlog.retention.exported import compare_hashes
from secretsvc.sealedlog.retention.files import KEY, Files
from secretsvc.sealedlog.retention.jsonl import indexes_from, lines_of
from secretsvc.sealedlog.retention.prune import record_exported_size
from secretsvc.sealedlog.retention.tail_file import TailFile, tail_file
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.key_replacement import notes_of, signers_by
from secretsvc.sealedlog.rules.log_reader import check_types
from secretsvc.sealedlog.rules.sealing import Bound, how_many_wait, seal_some
from secretsvc.sealedlog.rules.signer import find_signer
from secretsvc.sealedlog.verification.verify import is_replayed, verify_database, verify_files
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Checkpoint, Signatory, Verifier, read_checkpoint, read_verifier
from secretsvc.web.headers import new_request_id
from secretsvc.web.request import ServiceRegistry

#: Of a step that seals a backlog, behind which nobody waits for long.
STEP = Bound(1000, 60.0)
NOTHING_SEALED = "nothing is sealed yet: that needs a master key that is adopted"
FOUND = "By the key that was found there:"
FOLLOWED = "The key was replaced, as it says itself. The one that signs now, to be kept instead:"
NOT_REPLAYED = (
    "Records are pruned, so that the log is not replayed against the tables: "
    "name an export that has the state which they led to, the one that was pruned into."
)
#: How often `tail --follow` asks.
FOLLOW_SECONDS = 1.0
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def audit() -> None:
    """The sealed audit log: export it, verify it, follow it."""


@audit.command()
@click.argument("directories", metavar="[DIR]...", nargs=-1, type=FOLDER)
@click.option("--ini", type=FILE, help="Verify the database of this ini, also against DIR.")
@click.option("--key", metavar="KEY", help="The verifier key. Without it, the one that is found: not proof.")
@click.option("--checkpoint", "older", multiple=True, type=FILE, help="An older checkpoint that must hold.")
def verify(directories: tuple[Path, ...], ini: Path | None, key: str | None, older: tuple[Path, ...]) -> None:
    """Prove that nothing is changed or missing.

    It names each index and row that is wrong, and exits 1. Of a database, the log is also replayed and
    compared with the tables: grants, memberships, identities, service tokens, environments, each key and
    its description, every version and revision, and denials.

    DIR is verified offline, by its files alone. Name the folders of an export that was closed in their
    order, the oldest first; a folder that begins where another was closed can be verified alone, from there
    on. Keep the key, and a checkpoint now and then, where a writer to the database cannot change them: the
    proof rests on --key and --checkpoint.

    \b
    Example:
      secretsvc-server audit verify /srv/audit --key "$KEY" --checkpoint last-month
      secretsvc-server audit verify --ini production.ini --key "$KEY" /srv/audit
      secretsvc-server audit verify /srv/closed/2025 /srv/audit --key "$KEY"
    """
    folders = [Files(one) for one in directories]
    if not folders and ini is None:
        raise click.UsageError("Name a folder, or a database by --ini.")
    newest = folders[-1] if folders else None
    with cli_errors(), problems_are_plain(), ExitStack() as stack:
        found: list[tuple[str, Iterator[str]]] = []
        if ini is not None:
            registry = registry_of(str(ini))
            connection = stack.enter_context(snapshot(registry.database.engine))
            signers = own_key(connection, registry, key, newest)
            checkpoints = [_checkpoint(path, signers) for path in older]
            found += _of_database(connection, registry, signers, checkpoints, folders)
        elif newest is not None:
            signers = signers_by(_found_key(newest) if key is None else _key("--key", key), newest.notes())
            checkpoints = [_checkpoint(path, signers) for path in older]
        found += _of_folders(folders, signers, checkpoints)
        wrong = _told(found)
    if key != signers.newest.text:
        click.echo(f"{FOUND if key is None else FOLLOWED} {signers.newest.text}", err=True)
    if wrong:
        sys.exit(1)
    click.echo("All is as it was sealed.")


def _of_database(
    connection: Connection,
    registry: ServiceRegistry,
    signers: Signers,
    checkpoints: Sequence[Checkpoint],
    folders: Sequence[Files],
) -> list[tuple[str, Iterator[str]]]:
    """Return what is wrong with the database, also against the folders of an export."""
    newest = folders[-1] if folders else None
    if not is_replayed(connection, signers, newest):
        click.echo(NOT_REPLAYED, err=True)
    each = [
        verify_database(connection, signers, checkpoints, newest, _ring(registry)),
        *(compare_hashes(connection, signers, one) for one in folders[:-1]),
    ]
    return [("database", one) for one in each]


def _of_folders(
    folders: Sequence[Files], signers: Signers, checkpoints: Sequence[Checkpoint]
) -> list[tuple[str, Iterator[str]]]:
    """Return what is wrong with the folders of an export, under a name for each.

    Raises ValueError for a note on a beginning that is not signed.
    """
    if not folders:
        return []
    first = first_of(folders[0], signers)
    if first:
        click.echo(f"{folders[0].folder} begins at index {first}: older records are not verified.", err=True)
    names = [str(one.folder) if len(folders) > 1 else "export" for one in folders]
    wanted = by_folder(folders, signers, checkpoints)
    each = [verify_files(one, signers, mine) for one, mine in zip(folders, wanted, strict=True)]
    return [("export", wrong_order(folders)), *zip(names, each, strict=True)]


@audit.command()
@INI
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="Append to this file instead.")
@click.option("--from", "first", type=click.IntRange(0), help="First index; by default the oldest there is.")
@click.option("--follow", is_flag=True, help="Go on at the end, until interrupted.")
def tail(ini: str, to: Path | None, first: int | None, follow: bool) -> None:
    """Print sealed records by their index, one JSON object a line.

    With --to they are appended to a file, which another program can rotate: each record is written once,
    however often the tail is killed. FILE.position has the index of the next one. --from is for a new file,
    and for standard output, where a reader goes on with the last index and one. The command fails instead
    of going on behind records that are pruned.

    \b
    Example:
      secretsvc-server audit tail production.ini --follow --to /var/log/secretsvc/audit.jsonl
    """
    with cli_errors(), problems_are_plain(), ExitStack() as stack:
        engine = registry_of(ini).database.engine
        file = None if to is None else stack.enter_context(tail_file(to, first))
        while True:
            if file is None:
                first = write_lines(engine, sys.stdout.buffer, first)
            else:
                append_lines(engine, file)
            if not follow:
                return
            time.sleep(FOLLOW_SECONDS)


def append_lines(engine: Engine, file: TailFile) -> None:
    """Append a line for each record that was sealed since the last call. Raises ValueError as `reopen`."""
    file.reopen()
    with snapshot(engine) as connection:
        check_types(connection)
        indexes = indexes_from(connection, file.following)
        file.append(indexes, lines_of(connection, indexes))


def write_lines(engine: Engine, out: BinaryIO, first: int | None) -> int:
    """Write a line for each sealed record from an index on, None for the oldest; return the next index."""
    with snapshot(engine) as connection:
        check_types(connection)
        indexes = indexes_from(connection, first)
        following = indexes.start
        for index, line in lines_of(connection, indexes):
            out.write(line)
            following = index + 1
    out.flush()
    return following


def export_to(registry: ServiceRegistry, files: Files) -> Checkpoint:
    """Seal what waits, bring an export up to date, and tell the database how much it has.

    Raises as `export_log`.
    """
    sealing = Sealing(registry.load_ring(), registry.service_settings.audit_origin)
    engine = registry.database.engine
    seal_all(engine, sealing)
    if adopt_state(engine, sealing, new_request_id()):
        seal_all(engine, sealing)
    with snapshot(engine) as connection:
        done = export_log(connection, own_key(connection, registry), files)
    if done is None:
        raise ValueError(NOTHING_SEALED)
    with write_transaction(engine) as connection:
        record_exported_size(connection, done, now_ms())
    return done


@contextmanager
def problems_are_plain() -> Iterator[None]:
    """What is wrong with a log, an export or a key is one line."""
    try:
        yield
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def seal_all(engine: Engine, sealing: Sealing) -> None:
    """Seals what waits now, without pauses: of what others go on writing there may be no end.

    Another process may be at it, too. Raises ValueError as `check_types`, and as `seal_some`.
    """
    with read_once(engine) as connection:
        check_types(connection)
        left = how_many_wait(connection)
    while left > 0 and (sealed := seal_some(engine, sealing, STEP)):
        left -= sealed


def _told(found: list[tuple[str, Iterator[str]]]) -> bool:
    """Prints the problems as they are found; whether there was one."""
    wrong = False
    for name, problems in found:
        for problem in problems:
            wrong = True
            click.echo(f"{name}: {problem}")
    return wrong


def _ring(registry: ServiceRegistry) -> KeyRing | None:
    try:
        return registry.load_ring()
    except ServerMisconfigured:
        click.echo("There is no master key here: descriptions are not compared.", err=True)
        return None


def _key(where: object, text: str) -> Verifier:
    try:
        return read_verifier(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _found_key(files: Files) -> Verifier:
    text = files.text(KEY).strip()
    if not text:
        raise ValueError(f"{files.folder}: no key is there, so that it is no export, or not all of one")
    return _key(files.folder / KEY, text)


def own_key(
    connection: Connection, registry: ServiceRegistry, trusted: str | None = None, files: Files | None = None
) -> Signers:
    """The keys of the log by the one that the database has, or by one that is trusted.

    An export has notes on those that were replaced, too. Raises ValueError before there is a key, as
    `check_types`, and as `signers_by`.
    """
    check_types(connection)
    notes = [*notes_of(connection), *([] if files is None else files.notes())]
    if trusted is not None:
        return signers_by(_key("--key", trusted), notes)
    signer = find_signer(connection)
    if signer is None:
        raise ValueError(NOTHING_SEALED)
    return signers_by(Verifier(registry.service_settings.audit_origin, signer.public_key), notes)


def _checkpoint(path: Path, signatory: Signatory) -> Checkpoint:
    try:
        return read_checkpoint(path.read_text("utf-8"), signatory)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
