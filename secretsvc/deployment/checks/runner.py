"""All checks, in the order in which what they find is mended."""

from __future__ import annotations

from collections.abc import Iterator

import secretsvc
from secretsvc.authentication.authenticator import Authenticator
from secretsvc.deployment.checks.configuration import (
    check_files,
    check_key,
    check_key_sources,
    check_settings,
)
from secretsvc.deployment.checks.database import check_database
from secretsvc.deployment.checks.findings import Finding, fail
from secretsvc.deployment.checks.unknown_settings import check_names
from secretsvc.deployment.ini_files import IniError, read_ini


def check_deployment(ini: str, *, start: bool = False) -> Iterator[Finding]:
    """Return what is right and wrong with the deployment that an ini file and the environment describe.

    At the `start` only a fault that fails every request is a failure, and slow checks are left out. It
    changes nothing. Raises `ConfigurationError` where a plugin does not fit.
    """
    for found in _findings(ini, start=start):
        yield found.at_start if start else found


def _findings(ini: str, *, start: bool) -> Iterator[Finding]:
    try:
        own = read_ini(ini)
    except IniError as error:
        yield fail("ini", str(error), True)
        return
    registry = secretsvc.assemble(own).registry
    settings = registry.service_settings
    # Otherwise made with the WSGI application.
    registry.authenticator = Authenticator(settings, registry.refusals)
    yield from check_names(settings)
    yield from check_settings(registry)
    yield from check_files(settings, ini)
    yield from check_key(registry)
    if not start:
        yield from check_key_sources(settings)
    yield from check_database(registry, start=start)
