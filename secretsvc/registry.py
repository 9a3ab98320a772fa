"""What a process shares between requests: its settings, its database, its key ring."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial

from chameleon.config import CACHE_DIRECTORY
from pyramid.config import Configurator

from secretsvc.db.error_mapping import map_error
from secretsvc.db.session import Database
from secretsvc.db.sqlite_files import open_to_others
from secretsvc.kernel.budget import SHARES, PlaintextBudget
from secretsvc.kernel.crypto import SHORTEST, KeyRing
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.memory import configure_malloc
from secretsvc.kernel.rejections import Refusals
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.workloads import workloads
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import ServiceRegistry

log = logging.getLogger(__name__)

#: The active master key and, during a rotation, the retired one: 32 bytes each.
KeyProvider = Callable[[Settings], tuple[bytes, bytes | None]]


def add_key_provider(config: Configurator, name: str, provider: KeyProvider) -> None:
    """Directive: a source of master keys, chosen by `KEY_PROVIDER`. Two of one name conflict."""
    provider = config.maybe_dotted(provider)
    check_function(f"key provider {name}", provider)
    register = partial(config.registry.key_providers.__setitem__, name, provider)
    declare(config, "key provider", name, register)


def includeme(config: Configurator) -> None:
    """Puts them on the registry; none is opened before it is needed."""
    configure_malloc()
    registry = config.registry
    settings = Settings.own(registry.settings)
    registry.service_settings = settings
    registry.database = Database(settings)
    registry.database_failure = map_error
    registry.key_providers = {}
    registry.refusals = Refusals()
    registry.plaintext_budget = PlaintextBudget(lambda: settings.plaintext_max_bytes)
    config.add_directive("add_key_provider", add_key_provider)
    config.include("secretsvc.directives")

    @cache
    def load_ring() -> KeyRing:
        provider = registry.key_providers.get(settings.key_provider)
        if provider is None:
            settings.complain("setting KEY_PROVIDER names no provider")
            raise ServerMisconfigured()
        ring = KeyRing(*provider(settings))
        ring.check()
        return ring

    registry.load_ring = load_ring


def report(registry: ServiceRegistry) -> None:
    """Logs what is wrong with the settings and the files at the start, before a request meets it."""
    settings = registry.service_settings
    if "database_url" not in report_settings(settings):
        for path, mode in open_to_others(settings.database_url):
            log.warning("others than its owner may read or write %s (mode %04o)", path, mode)
    _warn_of_code_from_others()
    with suppress(ServerMisconfigured):
        registry.load_ring()


def report_settings(settings: Settings) -> frozenset[str]:
    """Log the settings that are missing, malformed or contradictory; return the names of the bad ones."""
    bad = settings.report()
    with suppress(ServerMisconfigured):
        for workload in workloads(settings):
            workload.report()
    with suppress(ServerMisconfigured):
        full = unexportable_bytes(settings)
        if full:
            log.warning(
                "a quarter of PLAINTEXT_MAX_BYTES is below %d bytes: a full environment cannot be exported",
                full,
            )
    return bad


def unexportable_bytes(settings: Settings) -> int:
    """Return the size of a full environment, 0 if it can be exported. Raises `ServerMisconfigured`."""
    full = settings.env_max_secrets * (settings.secret_max_bytes + SHORTEST)
    return full if full > settings.plaintext_max_bytes // SHARES else 0


def _warn_of_code_from_others() -> None:
    # Where CHAMELEON_CACHE is set, compiled pages are kept there, and executed from there.
    mode = 0 if CACHE_DIRECTORY is None else stat.S_IMODE(os.stat(CACHE_DIRECTORY).st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        log.warning(
            "others than its owner may write to %s (mode %04o), from which code is executed",
            CACHE_DIRECTORY,
            mode,
        )
