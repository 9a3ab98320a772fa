"""What a check found: one line each, none of which holds a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import NamedTuple


class Level(Enum):
    """`FAIL` is what must be mended before the service serves, or serves safely."""

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
        """The finding as the start takes it: what fails only some requests is a warning."""
        return self._replace(level=Level.WARN) if self.level is Level.FAIL and not self.stops else self

    @property
    def line(self) -> str:
        """As it is printed."""
        return f"{self.level.value:<5} {self.name:<10} {self.text}"


#: All is well.
ok = partial(Finding, Level.OK)
#: It will do, and should be looked at.
warn = partial(Finding, Level.WARN)
#: It will not do.
fail = partial(Finding, Level.FAIL)


class Complaints(logging.Handler):
    """What the service logs meanwhile; it names settings and files, and quotes no value."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps it."""
        self.records.append(record)

    def findings(self, name: str, what_to_do: str, *, stops: bool = False) -> list[Finding]:
        """Return failures for errors and warnings for everything else."""
        return [
            Finding(
                Level.FAIL if record.levelno >= logging.ERROR else Level.WARN,
                name,
                f"{record.getMessage()}: {what_to_do}",
                stops,
            )
            for record in self.records
        ]


@contextmanager
def complaints() -> Iterator[Complaints]:
    """Collects them, in the place of the log."""
    logger, handler = logging.getLogger("secretsvc"), Complaints()
    propagates, handlers = logger.propagate, logger.handlers
    logger.propagate, logger.handlers = False, [handler]
    try:
        yield handler
    finally:
        logger.propagate, logger.handlers = propagates, handlers
