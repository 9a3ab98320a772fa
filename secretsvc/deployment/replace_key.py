"""`secretsvc-server audit replace-key`: another key signs the log from now on (contract 7.2)."""

from __future__ import annotations

import click

from secretsvc.deployment import audit
from secretsvc.deployment.cli import INI, cli_errors, registry_of
from secretsvc.sealedlog.rules import key_replacement
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.web.headers import new_request_id


@click.command("replace-key")
@INI
def replace_key(ini: str) -> None:
    """Replace the key that signs the log by a new one.

    It prints the new verifier key. Waiting records are sealed first. Then the old key and the new one
    sign a note on the replacement, and the head of the log, and the replacement is recorded. Checkpoints
    by the old key stay good up to that head. It needs a role that owns the tables, and the master key.

    \b
    Example:
      secretsvc-server audit replace-key production.ini
    """
    with cli_errors(), audit.problems_are_plain():
        registry = registry_of(ini)
        sealing = Sealing(registry.load_ring(), registry.service_settings.audit_origin)
        engine = registry.database.engine
        audit.seal_all(engine, sealing)
        done = key_replacement.replace_signing_key(engine, sealing, new_request_id())
        audit.seal_all(engine, sealing)
    click.echo(f"The log is signed by another key after its first {done.at.size} records. Keep it:", err=True)
    click.echo(done.new.text)
