"""All checks, in the order in which what they find is mended."""

from __future__ import annotations

import configparser
from collections.abc import Iterator

from pyramid.paster import get_appsettings

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


def check_deployment(ini: str) -> Iterator[Finding]:
    """What there is to say of the deployment that an ini file and the environment describe.

    It changes nothing. Raises `ConfigurationError` where a plugin does not fit.
    """
    try:
        own = get_appsettings(ini)
    except (configparser.Error, LookupError, ValueError) as error:
        # Its text may quote a line of the file.
        advice = "compare it with the sample that secretsvc-server init writes"
        yield fail("ini", f"{type(error).__name__}: no ini file with a section [app:main]: {advice}")
        return
    registry = secretsvc.assemble(own).registry
    settings = registry.service_settings
    yield from check_names(settings)
    yield from check_settings(settings)
    yield from check_files(settings, ini)
    yield from check_key(registry)
    yield from check_key_sources(settings)
    yield from check_database(registry)
