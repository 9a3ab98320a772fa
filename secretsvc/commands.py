"""The `secretsvc-server` console script: chores for operators, by the same use cases as the API.

Each subcommand takes the ini file, as Pyramid's own scripts do, and acts as the system.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from shlex import quote

import click

from secretsvc.authentication.explain_token import explain
from secretsvc.deployment import migrate as migrations
from secretsvc.deployment.audit import audit
from secretsvc.deployment.audit_export import export
from secretsvc.deployment.audit_prune import prune
from secretsvc.deployment.backup import back_up
from secretsvc.deployment.checks.environment import use_environment
from secretsvc.deployment.checks.findings import Level
from secretsvc.deployment.checks.runner import check_deployment
from secretsvc.deployment.cli import INI, cli_errors, registry_of, system_call
from secretsvc.deployment.ini_files import read_ini, set_up_logging
from secretsvc.deployment.init import write_first_files
from secretsvc.deployment.replace_key import replace_key
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.crypto import generate_master_key
from secretsvc.kernel.settings import Settings
from secretsvc.keyring import domain

#: More than a token has: what is longer is refused as such.
LONGEST_TOKEN = 65_536
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
@click.version_option(package_name="secretsvc")
def main() -> None:
    """Chores for those who run secretsvc."""


@main.command()
@INI
@click.option("--page", default=500, show_default=True, type=click.IntRange(1, 1000))
def rekey(ini: str, page: int) -> None:
    """Move every envelope to the active master key, page by page.

    Each page commits by itself: a run that was interrupted is taken up by the next. Keys that no envelope
    names any more are retired, but for the newest: they seal no more.

    \b
    Example:
      MASTER_KEY=<new> MASTER_KEY_OLD=<old> secretsvc-server rekey production.ini
    """
    registry = registry_of(ini)
    with cli_errors(), system_call(registry, writes=False) as call:
        total = domain.count_remaining(call)
    with cli_errors(), click.progressbar(length=total, label="Rekeying") as bar:
        while True:
            with system_call(registry, writes=True) as call:
                done = domain.rekey(call, page)
            bar.update(done.rekeyed)
            if not done.remaining:
                break
    click.echo("Every envelope is under the active key.")


@main.command()
@INI
def verify(ini: str) -> None:
    """Open every envelope, and name those that fail.

    Current and historical ones. Exit 1 if any fails.

    Keys that no envelope names are retired, but for the newest: they seal no more.

    \b
    Example:
      secretsvc-server verify production.ini
    """
    registry = registry_of(ini)
    seen = bad = 0
    with cli_errors(), system_call(registry, writes=False) as call:
        for found in domain.verify_envelopes(call):
            seen += 1
            if found is not None:
                bad += 1
                at = found.location
                click.echo(f"{found.code} {at.project}/{at.environment} {at.key} version {at.version}")
        unused = domain.unused_keys(call)
    click.echo(f"{seen} envelopes, {bad} unreadable.")
    if unused:
        with cli_errors(), system_call(registry, writes=True) as call:
            domain.retire_unused_keys(call)
    sys.exit(1 if bad else 0)


@main.command()
def keygen() -> None:
    """Print a fresh key for MASTER_KEY.

    \b
    Example:
      (umask 077; secretsvc-server keygen > master-key)
    """
    click.echo(generate_master_key())


@main.command()
@INI
def adopt(ini: str) -> None:
    """Adopt MASTER_KEY: let it seal into this database.

    It becomes the newest of the database's keys. A first key, and a new one beside an old one that is in
    use, are taken into use by themselves. This is for every other one, also for one that was retired. Be
    sure that it is not a mistaken key: what it seals can be opened with it alone. The database records
    the adoption.

    \b
    Example:
      MASTER_KEY=<key> secretsvc-server adopt production.ini
    """
    with cli_errors(), system_call(registry_of(ini), writes=True) as call:
        done = domain.adopt(call)
    if not done.changed:
        click.echo(f"Master key {done.kid} is the newest adopted already: nothing to do.")
        return
    state = "adopted again, after it was retired" if done.was_retired else "adopted"
    click.echo(f"Master key {done.kid} is {state}. The newest before it: {done.before or 'none'}.")


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def init(directory: Path) -> None:
    """Write a first production.ini and a master key into DIR.

    It prints the next steps. Beside the two files is a folder deploy with samples for systemd, balancers,
    containers and alerts. Nothing is overwritten. Run it as the user that the service runs as: ini and
    key are that user's alone.

    \b
    Example:
      secretsvc-server init /var/lib/secretsvc
    """
    with cli_errors():
        ini, key, samples = write_first_files(directory)
    name = quote(str(ini))
    click.echo(f"Wrote {ini} and {key}, and samples into {samples}.")
    click.echo("Keep a copy of the key where no backup of the database is: without it no value can be read.")
    click.echo("Name the database and the access proxy in the ini file, or in the environment. Then:")
    click.echo(f"  secretsvc-server migrate {name}\n  secretsvc-server check {name}\n  pserve {name}")


@main.command()
@INI
@click.option("--down-to", metavar="REVISION", help="Undo the migrations after this one; base undoes all.")
@click.option("--lose-data", is_flag=True, help="Undo them, with the data that is then lost.")
def migrate(ini: str, down_to: str | None, lose_data: bool) -> None:
    """Bring the schema up to date, that of plugins too. Several at once wait for each other.

    It needs a role that owns the tables. --down-to alone tells what would be lost, and changes nothing.

    \b
    Example:
      secretsvc-server migrate production.ini
      secretsvc-server migrate production.ini --down-to 0007 --lose-data
    """
    if lose_data and down_to is None:
        raise click.UsageError("--lose-data goes with --down-to.")
    with cli_errors():
        set_up_logging(ini)
        if down_to is None:
            click.echo(f"The schema is at {', '.join(migrations.upgrade(ini))}.")
            return
        undone = migrations.undone_by(ini, down_to)
        for one in undone:
            click.echo(f"Undoing {one.revision} loses {one.lost}.")
        if undone and not lose_data:
            raise click.ClickException("nothing was changed. After a backup, say so by --lose-data.")
        if undone:
            migrations.downgrade(ini, down_to)
    click.echo(f"{len(undone)} migrations were undone.")


@main.command()
@INI
@click.option("--environment", metavar="FILE", type=FILE, help="Take the settings of systemd's FILE.")
@click.option("--start", is_flag=True, help="Fail only for a fault that fails every request.")
def check(ini: str, environment: Path | None, start: bool) -> None:
    """Report what is wrong before the service serves.

    It looks at names and settings, files, the master key, the sources of the issuers' keys and the
    database, and prints a line for each check. Exit 1 if any fails. It changes nothing and prints no
    secret. Run it as the service's user, with its environment: --environment reads an EnvironmentFile of
    systemd, instead of this shell's variables.

    \b
    Example:
      secretsvc-server check production.ini
      secretsvc-server check --environment /etc/secretsvc/environment production.ini
    """
    failed = False
    # The findings report what the log would.
    logging.getLogger("secretsvc").addHandler(logging.NullHandler())
    with cli_errors():
        ignored = [] if environment is None else use_environment(environment)
        for found in (*ignored, *check_deployment(ini, start=start)):
            click.echo(found.line)
            failed = failed or found.level is Level.FAIL
    sys.exit(1 if failed else 0)


@main.command()
@INI
@click.argument("file", type=click.Path(path_type=Path))
def backup(ini: str, file: Path) -> None:
    """Copy the SQLite database into FILE while it is served.

    The copy is consistent, and nothing is overwritten. FILE gets its name once it is whole. It holds no
    master key: keep those that are named where the backup is not. On PostgreSQL nothing is written: the
    command tells the pg_dump to run, and exits 1.

    \b
    Example:
      secretsvc-server backup production.ini /var/backups/secretsvc-$(date +%F).sqlite
    """
    with cli_errors():
        made = back_up(Settings(read_ini(ini)).database_url, file)
    click.echo(f"Wrote {file}: {made.size} bytes, schema {', '.join(made.schema)}.")
    for kid, count in made.envelopes.items():
        click.echo(f"It needs master key {kid}: {count} envelopes.")
    if made.signer is not None:
        click.echo(f"It needs master key {made.signer}: the signing key of the audit log.")


@main.command("explain-token")
@INI
def explain_token(ini: str) -> None:
    """Explain the token on standard input.

    It prints the identity of the token, or the check that it fails. Exit 1 if it would be refused.

    It asks neither the network nor the database, and never prints the token. The signature is checked where
    the keys are in a file.

    \b
    Example:
      secretsvc-server explain-token production.ini < token
    """
    with cli_errors():
        set_up_logging(ini)
        settings = Settings(read_ini(ini))
        text = sys.stdin.buffer.read(LONGEST_TOKEN).decode("ascii", "replace")
        found = explain(settings, text, now_ms() / 1000)
    for line in found.lines:
        click.echo(line)
    sys.exit(0 if found.good else 1)


audit.add_command(export)
audit.add_command(prune)
audit.add_command(replace_key)
main.add_command(audit)
