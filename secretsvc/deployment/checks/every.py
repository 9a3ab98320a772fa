"""All checks, in the order in which what they find is mended."""

from __future__ import annotations

from collections.abc import Iterator

import secretsvc
from secretsvc.deployment.checks.configuration import (
    check_files,
    check_key,
    check_key_sources,
    check_settings,
)
from secretsvc.deployment.checks.database import check_database
from secretsvc.deployment.checks.findings import Finding, fail
from secretsvc.deployment.checks.names import check_names
from secretsvc.deployment.ini_files import IniError, read_ini


def check_deployment(ini: str) -> Iterator[Finding]:
    """What there is to say of the deployment that an ini file and the environment describe.

    It changes nothing. Raises `ConfigurationError` where a plugin does not fit.
    """
    try:
        own = read_ini(ini)
    except IniError as error:
        yield fail("ini", str(error))
        return
    registry = secretsvc.assemble(own).registry
    settings = registry.service_settings
    yield from check_names(settings)
    yield from check_settings(settings)
    yield from check_files(settings, ini)
    yield from check_key(registry)
    yield from check_key_sources(settings)
    yield from check_database(registry)
