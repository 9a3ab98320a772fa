"""`secretsvc-server audit`: the sealed log is exported, verified and followed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click
from sqlalchemy import Connection, Engine

from secretsvc.db.engine import read_once, snapshot, write_transaction
from secretsvc.deployment.running import INI, failing_plainly, registry_of
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.sealedlog.rules.exporting import export_log
from secretsvc.sealedlog.rules.files import KEY, Files
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.lines import indexes_from, lines_of
from secretsvc.sealedlog.rules.pruning import note_export
from secretsvc.sealedlog.rules.replacing import notes_of, signers_by
from secretsvc.sealedlog.rules.sealing import Bound, how_many_wait, seal_some
from secretsvc.sealedlog.rules.signing import find_signer
from secretsvc.sealedlog.rules.snapshots import adopt_state
from secretsvc.sealedlog.rules.stored import check_types
from secretsvc.sealedlog.rules.tail_file import TailFile, tail_file
from secretsvc.sealedlog.rules.verifying import is_replayed, verify_database, verify_files
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
@INI
@click.argument("directory", metavar="DIR", type=FOLDER)
def export(ini: str, directory: Path) -> None:
    """Copy the sealed log into DIR.

    DIR gets tiles, entries and a checkpoint (C2SP tlog-tiles). Waiting records are sealed first. The next
    export into DIR goes on where this one stopped, also if it was interrupted. It fails, and leaves the
    old checkpoint, where the log is no longer what was sealed. The first one also adopts what the tables
    hold, as what a replay of the log begins with.

    \b
    Example:
      secretsvc-server audit export production.ini /srv/audit
    """
    with failing_plainly(), problems_are_plain():
        size = export_to(registry_of(ini), Files(directory)).size
    click.echo(f"{size} entries are in {directory}.")


@audit.command()
@click.argument("directory", metavar="[DIR]", required=False, type=FOLDER)
@click.option("--ini", type=FILE, help="Verify the database of this ini, also against DIR.")
@click.option("--key", metavar="KEY", help="The verifier key. Without it, the one that is found: not proof.")
@click.option("--checkpoint", "older", multiple=True, type=FILE, help="An older checkpoint that must hold.")
def verify(directory: Path | None, ini: Path | None, key: str | None, older: tuple[Path, ...]) -> None:
    """Prove that nothing is changed or missing.

    It names each index and row that is wrong, and exits 1. Of a database, the log is also replayed and
    compared with the tables: grants, memberships, identities, service tokens, environments, each key and
    its description, every version and revision, and denials.

    DIR is verified offline, by its files alone. Keep the key, and a checkpoint now and then, where whoever
    writes to the database cannot: --key and --checkpoint are what the proof rests on.

    \b
    Example:
      secretsvc-server audit verify /srv/audit --key "$KEY" --checkpoint last-month
      secretsvc-server audit verify --ini production.ini --key "$KEY" /srv/audit
    """
    if directory is None and ini is None:
        raise click.UsageError("Name a folder, or a database by --ini.")
    files = None if directory is None else Files(directory)
    with failing_plainly(), problems_are_plain(), ExitStack() as stack:
        found: list[tuple[str, Iterator[str]]] = []
        if ini is not None:
            registry = registry_of(str(ini))
            connection = stack.enter_context(snapshot(registry.database.engine))
            signers = own_key(connection, registry, key, files)
            checkpoints = [_checkpoint(path, signers) for path in older]
            ring = _ring(registry)
            found.append(("database", verify_database(connection, signers, checkpoints, files, ring)))
            if not is_replayed(connection, signers, files):
                click.echo(NOT_REPLAYED, err=True)
        elif files is not None:
            signers = signers_by(_found_key(files) if key is None else _key("--key", key), files.notes())
            checkpoints = [_checkpoint(path, signers) for path in older]
        if files is not None:
            found.append(("export", verify_files(files, signers, checkpoints)))
        wrong = _told(found)
    if key != signers.newest.text:
        click.echo(f"{FOUND if key is None else FOLLOWED} {signers.newest.text}", err=True)
    if wrong:
        sys.exit(1)
    click.echo("All is as it was sealed.")


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
    with failing_plainly(), problems_are_plain(), ExitStack() as stack:
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
    """Seals what waits, brings an export up to date, and tells the database how much it has.

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
        note_export(connection, done, now_ms())
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
