"""`secretsvc-server audit export`: a copy of the sealed log, which can be closed and go on elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click
from sqlalchemy import Connection

from secretsvc.db.engine import snapshot
from secretsvc.db.types import FoundRow
from secretsvc.deployment.audit import FOLDER, export_to, own_key, problems_are_plain
from secretsvc.deployment.cli import INI, cli_errors, registry_of
from secretsvc.sealedlog.replay.snapshots import find_snapshot
from secretsvc.sealedlog.retention.boundaries import Boundary
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.folders import begin_folder, close_folder
from secretsvc.sealedlog.retention.prune import pruned_of
from secretsvc.sealedlog.rules.signer import find_signer, private_key
from secretsvc.sealedlog.verification.verify import verify_files
from secretsvc.web.request import ServiceRegistry


@click.command()
@INI
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option("--close", is_flag=True, help="Verify DIR and close it: nothing is exported into it again.")
@click.option("--after", metavar="CLOSED", type=FOLDER, help="Begin DIR where this folder was closed.")
def export(ini: str, directory: Path, after: Path | None, *, close: bool) -> None:
    """Copy the sealed log into DIR.

    DIR gets tiles, entries and a checkpoint (C2SP tlog-tiles). Waiting records are sealed first. The next
    export into DIR goes on where this one stopped, also if it was interrupted. It fails, and leaves the
    old checkpoint, where the log is no longer what was sealed. The first one also adopts what the tables
    hold, as what a replay of the log begins with.

    So that verifications and prunings do not read an ever longer export, close it now and then, and begin
    another folder. Keep the closed one: it alone has its records once they are pruned.

    \b
    Example:
      secretsvc-server audit export production.ini /srv/audit
      secretsvc-server audit export production.ini /srv/audit --close
      secretsvc-server audit export production.ini /srv/next --after /srv/audit
    """
    if close and after is not None:
        raise click.UsageError("Close one folder, then begin another after it: two commands.")
    files = Files(directory)
    with cli_errors(), problems_are_plain():
        registry = registry_of(ini)
        if close:
            end = close_export(registry, files).size
            click.echo(f"{directory} is closed. The next folder begins at index {end}.")
            return
        if after is not None:
            begin_export(registry, files, Files(after))
        size = export_to(registry, files).size
    click.echo(f"{size} entries are in {directory}.")


def close_export(registry: ServiceRegistry, files: Files) -> Boundary:
    """Bring an export up to date, verify all of it, and close it.

    Raises ValueError where that finds a problem, and as `export_to` and `close_folder`.
    """
    head = export_to(registry, files)
    with snapshot(registry.database.engine) as connection:
        signers = own_key(connection, registry)
        key, begin = signing_key(connection, registry), find_snapshot(connection, signers)
    for problem in verify_files(files, signers, [head]):
        raise ValueError(f"nothing was closed, because the export is damaged: {problem}")
    return close_folder(files, signers, key, begin, head)


def begin_export(registry: ServiceRegistry, files: Files, closed: Files) -> None:
    """Begin a folder where another was closed. Raises ValueError as `begin_folder`."""
    with snapshot(registry.database.engine) as connection:
        signers, pruned = own_key(connection, registry), pruned_of(connection).position
    begin_folder(files, closed, signers, pruned)


def signing_key(connection: Connection, registry: ServiceRegistry) -> bytes:
    """Return the private key of a log that has one. Raises as `private_key`."""
    return private_key(registry.load_ring(), cast("FoundRow", find_signer(connection)))
