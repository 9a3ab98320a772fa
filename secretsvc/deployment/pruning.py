"""`secretsvc-server audit prune`: records that were exported leave the database (contract 7.5)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import click
from sqlalchemy import Connection, Engine

from secretsvc.audit.rules.records import record
from secretsvc.db.engine import read_once, read_transaction, snapshot, write_transaction
from secretsvc.db.types import FoundRow
from secretsvc.deployment.auditing import FOLDER, export_to, own_key, problems_are_plain
from secretsvc.deployment.running import INI, failing_plainly, registry_of, system_call
from secretsvc.kernel.clock import now_ms
from secretsvc.sealedlog.rules.files import CHECKPOINT, Files
from secretsvc.sealedlog.rules.keeping import keep_state
from secretsvc.sealedlog.rules.pruning import (
    BATCH_ROWS,
    PRUNE,
    Pruning,
    Told,
    end_of,
    prune_some,
    pruned_of,
    prunings_of,
    signed,
)
from secretsvc.sealedlog.rules.signing import find_signer, private_key
from secretsvc.sealedlog.rules.snapshots import find_snapshot
from secretsvc.sealedlog.rules.verifying import verify_files
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
    "--export", "directory", metavar="DIR", required=True, type=FOLDER, help="It is brought up to date."
)
def prune(ini: str, before: datetime, directory: Path) -> None:
    """Remove sealed records from before DATE.

    The log is first exported into DIR, and the export verified. Then the pruning is recorded, and records go
    in small batches, from the oldest on up to the first that is not from before DATE. Hashes and indexes
    stay. A run that was interrupted is taken up by the next. It needs a role that owns the tables.

    \b
    Example:
      secretsvc-server audit prune production.ini --before 2026-01-01 --export /srv/audit
    """
    until = round(before.replace(tzinfo=UTC).timestamp() * 1000)
    if until > now_ms():
        raise click.BadParameter("it is still to come.", param_hint="--before")
    with failing_plainly(), problems_are_plain():
        registry, files = registry_of(ini), Files(directory)
        size = _export_whole(registry, files)
        begun = _unfinished(registry)
        if begun is not None:
            _finish(registry, files, begun)
        pruning = _record(registry, files, until, size)
        if pruning is None:
            click.echo("Nothing is left to prune.")
            return
        _await_seal(registry, files, pruning)
        _remove(registry.database.engine, pruning)
    click.echo(f"{pruning.count} records are pruned. The first index that is left is {pruning.size}.")


def _export_whole(registry: ServiceRegistry, files: Files) -> int:
    """Brings the export up to date and verifies it, all of it; how many entries it has."""
    done = export_to(registry, files)
    with snapshot(registry.database.engine) as connection:
        verifier = own_key(connection, registry)
    for problem in verify_files(files, verifier, [done]):
        raise ValueError(f"nothing was pruned, because the export is damaged: {problem}")
    return done.size


def _unfinished(registry: ServiceRegistry) -> Pruning | None:
    """The pruning that is recorded and sealed, and was interrupted."""
    with snapshot(registry.database.engine) as connection:
        pruned = pruned_of(connection).position
        sealed = [one for one in _recorded(connection, registry) if one.position is not None]
    return sealed[-1].pruning if sealed and sealed[-1].pruning.size > pruned else None


def _recorded(connection: Connection, registry: ServiceRegistry) -> list[Told]:
    return prunings_of(connection, own_key(connection, registry))


def _record(registry: ServiceRegistry, files: Files, before: int, size: int) -> Pruning | None:
    """Writes what is about to be done into the log, signed; None where there is nothing to do.

    The state that it leads to is in the export before, for whoever verifies meanwhile.
    """
    with snapshot(registry.database.engine) as connection:
        first, end = pruned_of(connection).position, end_of(connection, before, size)
        key = _signing_key(connection, registry)
    if end <= first:
        return None
    pruning = Pruning(before, end - first, end, files.root(end, size).hex())
    _keep(registry, files, pruning)
    with system_call(registry, writes=True) as call:
        record(call, PRUNE, detail=signed(call.settings.audit_origin, key, pruning))
    return pruning


def _signing_key(connection: Connection, registry: ServiceRegistry) -> bytes:
    # It is there: the export was verified with its public half.
    return private_key(registry.load_ring(), cast("FoundRow", find_signer(connection)))


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


def _finish(registry: ServiceRegistry, files: Files, pruning: Pruning) -> None:
    """Goes on with a pruning, whose state may be in another export."""
    _keep(registry, files, pruning)
    _remove(registry.database.engine, pruning)


def _keep(registry: ServiceRegistry, files: Files, pruning: Pruning) -> None:
    """Writes the state that the records lead to into the export."""
    engine, origin = registry.database.engine, registry.service_settings.audit_origin
    with snapshot(engine) as connection:
        key = _signing_key(connection, registry)
        verifier = own_key(connection, registry)
        begin = find_snapshot(connection, verifier)
    total = read_checkpoint(files.text(CHECKPOINT), verifier).size
    keep_state(files, origin, key, begin, pruning.size, total)


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
