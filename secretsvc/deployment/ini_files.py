"""Reading an ini file: its settings and its logging, with errors that quote no line of it."""

from __future__ import annotations

import configparser

from pyramid import paster
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.ini_values import IniValueError, accept_percent_signs


class IniError(ConfigurationError):  # type: ignore[misc]  # it has no types of its own
    """Why an ini file cannot be used, in one line."""


def read_ini(ini: str, section: str = "main") -> dict[str, str]:
    """Return the settings of the application in an ini file. Raises `IniError`."""
    accept_percent_signs()
    try:
        settings: dict[str, str] = paster.get_appsettings(ini, section)
    except IniValueError as error:
        raise IniError(str(error)) from None
    except (configparser.Error, LookupError, ValueError) as error:
        advice = "compare it with the sample that secretsvc-server init writes"
        told = f"{type(error).__name__}: no ini file with a section [app:{section}]: {advice}"
        # Its text may quote a line of the file.
        raise IniError(told) from None
    return settings


def set_up_logging(ini: str) -> None:
    """Log as the ini file says. Raises `IniError`."""
    accept_percent_signs()
    try:
        paster.setup_logging(ini)
    except (configparser.Error, LookupError, ValueError) as error:
        raise IniError(f"{type(error).__name__}: the logging of {ini} cannot be set up") from None
