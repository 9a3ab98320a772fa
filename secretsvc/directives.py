"""Directives for what a package brings besides views: tables, settings, and `request.dbsession`."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

from secretsvc.db.model_registry import ModelRegistry, tables_of
from secretsvc.db.orm import RequestSession
from secretsvc.kernel.settings import REQUIRED, Setting, Settings
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.web.registration import declare
from secretsvc.web.request import ServiceRequest, call_of

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def add_models(config: Configurator, module: ModuleType | str, *, migrations: str | None = None) -> None:
    """Directive: the tables of a module, which is imported here, and the folder of their migrations.

    The folder is written `package:folder`; what is in it is a branch of its own, with a label. Raises
    `ConfigurationError` where a module has no tables, or a folder is no such branch.
    """
    found: ModuleType = config.maybe_dotted(module)
    try:
        branch = None
        if migrations is not None:
            from secretsvc.db.migrations import read_migrations

            branch = read_migrations(migrations)
        config.registry.models.add(tables_of(found), branch)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    declare(config, "models", found.__name__)


def add_setting(
    config: Configurator,
    name: str,
    parse: Callable[[str], object],
    default: object = REQUIRED,
    *,
    ini: str | None = None,
    fresh: bool = False,
) -> None:
    """Directive: a setting, which is an attribute of the service's `Settings` from then on.

    It is read from the environment variable of its name in capitals, or from the ini key
    `secretsvc.<name>`. `parse` raises ValueError for a malformed text; without a default it is required.
    Two of one name conflict. Raises `ConfigurationError` for a name that cannot be an attribute.
    """
    if not _NAME.fullmatch(name) or hasattr(Settings, name):
        raise ConfigurationError(
            f"setting {name!r} cannot be added: take a lower-case name with your package's first, such as"
            " acme_notes_limit"
        )
    if not callable(parse):
        raise ConfigurationError(f"setting {name!r} has no parser: give a function from text to its value")
    declare_setting(config, name, Setting(parse, default, ini=ini, fresh=fresh))


def declare_setting(config: Configurator, name: str, setting: Setting[object]) -> None:
    """One that a package brings, or that secretsvc has itself."""
    settings = config.registry.service_settings
    declare(config, "setting", name, lambda: settings.add(name, setting))


def dbsession(request: ServiceRequest) -> RequestSession:
    """An ORM session on the request's own connection and transaction, made when it is first asked for."""
    if call_of(request) is not None:
        return RequestSession(lambda: request.call.connection, request.tm)
    session = request.registry.database.session(request.tm)
    return RequestSession(lambda: session.connection(Mode.SNAPSHOT), request.tm)


def includeme(config: Configurator) -> None:
    """Registers the directives, and what secretsvc has itself by them."""
    config.registry.models = ModelRegistry()
    config.add_directive("add_models", add_models)
    config.add_directive("add_setting", add_setting)
    for name, setting in config.registry.service_settings.known().items():
        declare_setting(config, name, setting)
    config.add_request_method(dbsession, reify=True)
