"""The schema up to date, or back, by the migrations that came with the package and those of plugins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util.exc import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import ProgrammingError

import secretsvc
from alembic import command
from secretsvc.db.engine import read_transaction
from secretsvc.db.migrations import add_branches
from secretsvc.deployment.ini_files import read_ini
from secretsvc.deployment.package_data import shipped

NOT_THE_OWNER = (
    "migrate: permission denied: DATABASE_URL must name the role that owns the tables, "
    "or on an empty database one that can create them"
)
#: SQLSTATE insufficient_privilege.
_DENIED = "42501"


class Undone(NamedTuple):
    """A migration that a downgrade would undo, and what is lost by that."""

    revision: str
    lost: str


def upgrade(ini: str) -> tuple[str, ...]:
    """Applies what is due; where the schema is then: our revision and those of plugins.

    Waits while another migrates. Raises `alembic.util.CommandError` and what the database raises.
    """
    config = _config(ini)
    with _naming_the_owner():
        command.upgrade(config, "heads")
    with read_transaction(config.attributes["registry"].database.engine) as connection:
        return heads(connection)


def undone_by(ini: str, revision: str) -> list[Undone]:
    """What a downgrade to a revision, `base` for none, would undo, in its order. Raises as `upgrade`."""
    config = _config(ini)
    registry = config.attributes["registry"]
    script = ScriptDirectory.from_config(config)
    add_branches(script, registry.models.branches)
    with read_transaction(registry.database.engine) as connection:
        found = heads(connection)
    if not found:
        return []
    try:
        steps = [*script.iterate_revisions(found, revision, select_for_downgrade=True)]
    except RevisionError as error:
        raise CommandError(str(error)) from error
    return [Undone(step.revision, getattr(step.module, "lost", "what it brought")) for step in steps]


def downgrade(ini: str, revision: str) -> None:
    """Undoes the migrations after a revision, with the data that they brought. Raises as `upgrade`."""
    with _naming_the_owner():
        command.downgrade(_config(ini), revision)


@contextmanager
def _naming_the_owner() -> Iterator[None]:
    try:
        yield
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != _DENIED:
            raise
        raise CommandError(NOT_THE_OWNER) from error


def heads(connection: Connection) -> tuple[str, ...]:
    """Where a schema is; nothing of an empty database."""
    return tuple(sorted(MigrationContext.configure(connection).get_current_heads()))


def _config(ini: str) -> Config:
    config = Config(ini)
    # For Alembic's entry, which would make it again.
    config.attributes["registry"] = secretsvc.assemble(read_ini(ini)).registry
    # An ini file of a source tree names a folder there, and another may name none.
    config.set_main_option("script_location", str(shipped("alembic")).replace("%", "%%"))
    return config
