"""What a check found: one line each, none of which holds a secret."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import NamedTuple


class Level(Enum):
    """`FAIL` is for a fault to mend before the service serves, or serves safely."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """`name` is that of the check; `text` says what was found, and what to do about a problem.

    `stops` is whether the fault fails every request.
    """

    level: Level
    name: str
    text: str
    stops: bool = False

    @property
    def at_start(self) -> Finding:
        """The finding at a start: a fault that fails only some requests is a warning."""
        return self._replace(level=Level.WARN) if self.level is Level.FAIL and not self.stops else self

    @property
    def line(self) -> str:
        """The line that `check` prints."""
        return f"{self.level.value:<5} {self.name:<10} {self.text}"


#: Nothing to do.
ok = partial(Finding, Level.OK)
#: The service works, and an operator should see to it.
warn = partial(Finding, Level.WARN)
#: Mend it before the service serves.
fail = partial(Finding, Level.FAIL)
