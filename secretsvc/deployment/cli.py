"""What the commands of operators have in common: an ini file, the system's calls, and plain failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from alembic.util.exc import CommandError
from pyramid.exceptions import ConfigurationError
from pyramid.registry import Registry
from sqlalchemy.exc import SQLAlchemyError

import secretsvc
from secretsvc.db.engine import read_transaction, write_transaction
from secretsvc.db.supported import UnsupportedDatabaseError
from secretsvc.deployment.backup import BackupRefused
from secretsvc.deployment.ini_files import read_ini, set_up_logging
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.authorization import SYSTEM_GRANTS
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.error_logging import cause_of, location_of
from secretsvc.web.headers import new_request_id
from secretsvc.web.request import ServiceRegistry

INI = click.argument("ini", type=click.Path(exists=True, dir_okay=False))


def registry_of(ini: str) -> Registry:
    """What the ini file configures, with its logging. Raises `ClickException`."""
    try:
        set_up_logging(ini)
        return secretsvc.configure(read_ini(ini)).registry
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def system_call(registry: ServiceRegistry, *, writes: bool) -> Iterator[UseCaseContext]:
    """A call of the system, in a short transaction of its own that may write or only reads."""
    begin = write_transaction if writes else read_transaction
    with begin(registry.database.engine) as connection:
        yield UseCaseContext(
            SYSTEM,
            SYSTEM_GRANTS,
            now_ms(),
            new_request_id(),
            registry.service_settings,
            connect=lambda _mode: connection,
            abandon=connection.rollback,
            load_ring=registry.load_ring,
        )


@contextmanager
def cli_errors() -> Iterator[None]:
    """Report failures that an operator can mend in one line, without a traceback."""
    try:
        yield
    except UnsupportedDatabaseError as error:
        raise click.ClickException(error.reason) from None
    except SecretsvcError as error:
        raise click.ClickException(f"{error.code}: {error.message}") from None
    except (BackupRefused, CommandError, ConfigurationError) as error:
        raise click.ClickException(str(error)) from None
    except BrokenPipeError:
        # Click ends the command without a word: the reader of the output has left.
        raise
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise click.ClickException(told) from None
    except SQLAlchemyError as error:
        # The text of a database's error may hold the values of its statement.
        raise click.ClickException(f"{cause_of(error)}, at {location_of(error)}") from None
