"""Values of ini files: percent-encoded URLs as they are, and errors that quote no value."""

from __future__ import annotations

import configparser
import re
from typing import Any

from paste.deploy.loadwsgi import NicerConfigParser

#: A doubled percent sign stays one, and so does that of `%40` in a URL; `%(here)s` is replaced.
_LITERAL = re.compile("%%|%(?=[0-9A-Fa-f]{2})")


class IniValueError(ValueError):
    """A value of an ini file that cannot be read; its text names the option and quotes no value."""


class _Values(NicerConfigParser.InterpolateWrapper):  # type: ignore[misc]  # it has no types of its own
    def before_get(self, parser: Any, section: str, option: str, value: str, defaults: Any) -> str:
        try:
            read: str = self._original.before_get(
                parser, section, option, _LITERAL.sub("%%", value), defaults
            )
        except configparser.InterpolationError:
            # Its text has the value, which can be a password.
            at = f"{option} of [{section}] in {parser.filename}"
            raise IniValueError(f"{at} cannot be read: write each percent sign as %%") from None
        return read


def accept_percent_signs() -> None:
    """Let PasteDeploy read ini files so from now on, in this process."""
    NicerConfigParser.InterpolateWrapper = _Values
