"""`secretsvc-server audit prune`: records that were exported leave the database (contract 7.5)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import click
from sqlalchemy import Connection, Engine

from secretsvc.audit.rules.records import record
from secretsvc.db.engine import read_once, read_transaction, snapshot, write_transaction
from secretsvc.deployment.audit import FOLDER, export_to, own_key, problems_are_plain
from secretsvc.deployment.audit_export import signing_key
from secretsvc.deployment.cli import INI, cli_errors, registry_of, system_call
from secretsvc.kernel.clock import now_ms
from secretsvc.sealedlog.models import PRUNE
from secretsvc.sealedlog.replay.snapshots import find_snapshot
from secretsvc.sealedlog.retention.boundaries import CLOSED, boundary_of, folder_of, wrong_order
from secretsvc.sealedlog.retention.files import CHECKPOINT, Files
from secretsvc.sealedlog.retention.prune import (
    BATCH_ROWS,
    PruneRecord,
    Pruning,
    end_of,
    prune_some,
    pruned_of,
    prunings_of,
    signed,
)
from secretsvc.sealedlog.retention.pruned_state import keep_state, led_to
from secretsvc.sealedlog.verification.verify import verify_files
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import read_checkpoint
from secretsvc.web.request import ServiceRegistry

#: A batch takes about so long, with the tidying after it, which slows writes, too.
BATCH_SECONDS = 0.02
FIRST_ROWS, LEAST_ROWS = 50, 10
#: How often, and for how long, a record of a pruning is waited for until it is sealed.
SEALING_SECONDS, SEALING_TIMES = 0.5, 120
DATE = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"])


@click.command()
@INI
@click.option("--before", metavar="DATE", required=True, type=DATE, help="Older records go; in UTC.")
@click.option(
    "--export",
    "directories",
    metavar="DIR",
    required=True,
    multiple=True,
    type=FOLDER,
    help="It is brought up to date. Name closed folders before it, with an --export for each.",
)
def prune(ini: str, before: datetime, directories: tuple[Path, ...]) -> None:
    """Remove sealed records from before DATE.

    The log is first exported into DIR, and the export verified. Then the pruning is recorded, and records go
    in small batches, from the oldest on up to the first that is not from before DATE. Hashes and indexes
    stay. A run that was interrupted is taken up by the next. It needs a role that owns the tables.

    If DIR begins where another folder was closed, name that folder before it, as long as the database has
    records that only the closed one has.

    \b
    Example:
      secretsvc-server audit prune production.ini --before 2026-01-01 --export /srv/audit
      secretsvc-server audit prune production.ini --before 2026-01-01 --export /srv/2025 --export /srv/audit
    """
    until = round(before.replace(tzinfo=UTC).timestamp() * 1000)
    if until > now_ms():
        raise click.BadParameter("it is still to come.", param_hint="--before")
    with cli_errors(), problems_are_plain():
        registry, [*closed, files] = registry_of(ini), [Files(one) for one in directories]
        size = _export_whole(registry, files, closed)
        begun = _unfinished(registry)
        if begun is not None:
            _finish(registry, files, begun, closed)
        pruning = _record(registry, files, until, size, closed)
        if pruning is None:
            click.echo("Nothing is left to prune.")
            return
        _await_seal(registry, files, pruning)
        _remove(registry.database.engine, pruning)
    click.echo(f"{pruning.count} records are pruned. The first index that is left is {pruning.size}.")


def _export_whole(registry: ServiceRegistry, files: Files, closed: Sequence[Files] = ()) -> int:
    """Bring the export up to date, verify what the database may lose, and return its number of entries.

    `closed` are the folders before it, the oldest first. Raises ValueError where records are in none of them.
    """
    done = export_to(registry, files)
    with snapshot(registry.database.engine) as connection:
        signers, pruned = own_key(connection, registry), pruned_of(connection).position
    folders = [*closed, files]
    folder_of(folders, signers, pruned)
    for problem in wrong_order(folders):
        raise ValueError(f"nothing was pruned: {problem}")
    needed = [one for one in closed if _end_of(one, signers) > pruned]
    each = [*(verify_files(one, signers, []) for one in needed), verify_files(files, signers, [done])]
    for problem in chain.from_iterable(each):
        raise ValueError(f"nothing was pruned, because the export is damaged: {problem}")
    return done.size


def _end_of(files: Files, signers: Signers) -> int:
    """Return where a folder was closed, 0 for one that was not. Raises ValueError as `boundary_of`."""
    end = boundary_of(files, CLOSED, signers)
    return 0 if end is None else end.size


def _unfinished(registry: ServiceRegistry) -> Pruning | None:
    """The pruning that is recorded and sealed, and was interrupted."""
    with snapshot(registry.database.engine) as connection:
        pruned = pruned_of(connection).position
        sealed = [one for one in _recorded(connection, registry) if one.position is not None]
    return sealed[-1].pruning if sealed and sealed[-1].pruning.size > pruned else None


def _recorded(connection: Connection, registry: ServiceRegistry) -> list[PruneRecord]:
    return prunings_of(connection, own_key(connection, registry))


def _record(
    registry: ServiceRegistry, files: Files, before: int, size: int, closed: Sequence[Files] = ()
) -> Pruning | None:
    """Write what is about to be done into the log, signed; None where there is nothing to do.

    The state that it leads to is written into the export first, for verifications during the pruning.
    """
    with snapshot(registry.database.engine) as connection:
        first, end = pruned_of(connection).position, end_of(connection, before, size)
        key, signers = signing_key(connection, registry), own_key(connection, registry)
    if end <= first:
        return None
    source = folder_of([*closed, files], signers, end)
    root = source.root(end, _size_of(source, signers))
    pruning = Pruning(before, end - first, end, root.hex())
    _keep(registry, files, pruning, closed)
    with system_call(registry, writes=True) as call:
        record(call, PRUNE, detail=signed(call.settings.audit_origin, key, pruning))
    return pruning


def _size_of(files: Files, signers: Signers) -> int:
    return read_checkpoint(files.text(CHECKPOINT), signers).size


def _await_seal(registry: ServiceRegistry, files: Files, pruning: Pruning) -> None:
    """Has the record of a pruning sealed and exported, so that nothing is ever missing without it."""
    for _ in range(SEALING_TIMES):
        export_to(registry, files)
        with read_transaction(registry.database.engine) as connection:
            told = _recorded(connection, registry)
        if any(one.pruning == pruning and one.position is not None for one in told):
            return
        time.sleep(SEALING_SECONDS)
    raise ValueError("nothing was pruned, because the record of the pruning was not sealed in time")


def _finish(registry: ServiceRegistry, files: Files, pruning: Pruning, closed: Sequence[Files] = ()) -> None:
    """Go on with a pruning, whose state may be in another export."""
    _keep(registry, files, pruning, closed)
    _remove(registry.database.engine, pruning)


def _keep(registry: ServiceRegistry, files: Files, pruning: Pruning, closed: Sequence[Files]) -> None:
    """Write the state that the records lead to into the export, also where a closed folder has them."""
    with snapshot(registry.database.engine) as connection:
        key, signers = signing_key(connection, registry), own_key(connection, registry)
        begin = find_snapshot(connection, signers)
    source = folder_of([*closed, files], signers, pruning.size)
    kept = led_to(source, signers, begin, pruning.size, _size_of(source, signers))
    keep_state(files, signers.name, key, kept)


def _remove(engine: Engine, pruning: Pruning) -> None:
    """In batches, as large as the time for one allows; whoever waits to write comes in between."""
    rows, end = FIRST_ROWS, 0
    while end < pruning.size:
        with write_transaction(engine) as connection:
            # From here on: how long it waited for others says nothing of the batch.
            began = time.perf_counter()
            _leave_the_journal(connection)
            end = prune_some(connection, pruning, rows)
        held = time.perf_counter() - began
        _tidy_the_journal(engine)
        spent = time.perf_counter() - began
        rows = max(LEAST_ROWS, min(BATCH_ROWS, 2 * rows, int(rows * BATCH_SECONDS / spent)))
        # For as long as it held the lock it leaves it alone; the tidying is part of that.
        time.sleep(max(0.0, 2 * held - spent))


def _leave_the_journal(connection: Connection) -> None:
    """SQLite would copy it into the database at the commit, under the write lock."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA wal_autocheckpoint=0")


def _tidy_the_journal(engine: Engine) -> None:
    """Copies it beside whoever writes, so that no write of theirs has to."""
    if engine.name == "sqlite":
        with read_once(engine) as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").all()
