"""Alembic's entry: the same settings as the service, on either database."""

from logging.config import fileConfig

from pyramid.paster import get_appsettings

from alembic import context
from secretsvc.db.base import Base
from secretsvc.db.engine import Mode, for_mode, make_engine
from secretsvc.kernel.settings import Settings

config = context.config


def database_url() -> str:
    """The URL from the environment, or from the ini file's application section."""
    settings = get_appsettings(config.config_file_name, config.get_main_option("app_section", "main"))
    return Settings(settings).database_url


def run() -> None:
    """Applies the migrations in one transaction, so that a failed one leaves nothing behind."""
    engine = make_engine(config.attributes.get("url") or database_url())
    with engine.connect() as connection:
        writer = for_mode(connection, Mode.WRITE)
        if writer.dialect.name == "postgresql":
            # The limits of requests are not those of building an index.
            writer.exec_driver_sql("SET statement_timeout = 0")
            writer.exec_driver_sql("SET lock_timeout = '60s'")
            writer.commit()
        # Alembic would give each migration on SQLite a transaction of its own, which waits for the turn of
        # the one before it; begun as ours are, one undoes a schema there as well as on PostgreSQL.
        context.configure(
            connection=writer, target_metadata=Base.metadata, compare_type=True, transactional_ddl=True
        )
        with context.begin_transaction():
            context.run_migrations()
    engine.dispose()


if config.config_file_name and not config.attributes.get("url"):
    fileConfig(config.config_file_name, disable_existing_loggers=False)
run()
