"""Alembic's entry: the same settings and the same packages as the service, on either database."""

from contextlib import ExitStack
from logging.config import fileConfig

from alembic.util.exc import CommandError
from pyramid.exceptions import ConfigurationError

import secretsvc
from alembic import context
from secretsvc.db.base import METADATA
from secretsvc.db.engine import Mode, make_engine, set_mode
from secretsvc.db.migration_lock import migration_lock
from secretsvc.db.migrations import add_branches, record_release
from secretsvc.db.schema import schema_release
from secretsvc.db.supported import UnsupportedDatabaseError
from secretsvc.deployment.ini_files import read_ini

config = context.config


def application():
    """The registry of what the ini file's application section configures; nothing is served.

    Whoever has made it already hands it over.
    """
    if "registry" in config.attributes:
        return config.attributes["registry"]
    try:
        settings = read_ini(config.config_file_name, config.get_main_option("app_section", "main"))
        return secretsvc.assemble(settings).registry
    except ConfigurationError as error:
        raise CommandError(str(error)) from error


def run(registry):
    """Applies the migrations in one transaction, so that a failed one leaves nothing behind."""
    models, script = registry.models, context.script
    add_branches(script, models.branches)
    url = config.attributes.get("url") or registry.service_settings.database_url
    # To build an index takes as long as it takes.
    engine = make_engine(url, answer_seconds=None)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        # Before Alembic looks at where the schema is: what another is doing to it must be over.
        stack.enter_context(migration_lock(engine))
        connection = stack.enter_context(engine.connect())
        writer = set_mode(connection, Mode.WRITE)
        # Alembic would give each migration on SQLite a transaction of its own, which waits for the turn of
        # the one before it; begun as ours are, one undoes a schema there as well as on PostgreSQL.
        context.configure(
            connection=writer,
            target_metadata=METADATA,
            include_object=lambda table, name, kind, reflected, _: (
                kind != "table" or name in models.names or (reflected and name != schema_release.name)
            ),
            compare_type=True,
            transactional_ddl=True,
        )
        with context.begin_transaction():
            if writer.dialect.name == "postgresql":
                # The limits of requests are not those of building an index. Of this transaction alone: behind
                # a pooler, whoever comes after it would have them, too.
                writer.exec_driver_sql("SET LOCAL statement_timeout = 0")
                writer.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
            context.run_migrations()
            record_release(writer, script, context.get_context().get_current_heads())


if config.config_file_name and not config.attributes.get("url"):
    fileConfig(config.config_file_name, disable_existing_loggers=False)
try:
    run(application())
except UnsupportedDatabaseError as error:
    raise CommandError(error.reason) from None
