"""How pages show times, numbers, names and icons."""

from __future__ import annotations

from functools import cached_property

from secretsvc.web.pages import html_helpers, time_format
from secretsvc.web.request import ServiceRequest

#: As long for every value: the length of a hidden value is not shown.
MASK = "••••••••"


class Formatting:
    """The part of `ui` that formats what a template shows."""

    request: ServiceRequest
    mask = MASK
    time = staticmethod(time_format.exact)
    iso = staticmethod(time_format.iso)
    initials = staticmethod(html_helpers.initials)
    breaking = staticmethod(html_helpers.BreakableText)
    count = staticmethod(html_helpers.count)

    def asset(self, spec: str) -> str:
        """The path of a static file, `package:path`."""
        path: str = self.request.static_path(spec)
        return path

    def icon(self, name: str, kind: str = "") -> html_helpers.Icon:
        """A symbol of the sprite; `kind` are further classes."""
        return html_helpers.Icon(self._sprite, name, kind)

    def when(self, at: int) -> time_format.RelativeTime:
        """A time relative to now, with the exact one in its title; epoch milliseconds."""
        return time_format.RelativeTime(at, self.request.call.now)

    @cached_property
    def _sprite(self) -> str:
        return self.asset("secretsvc.web:static/icons.svg")
