"""What can go wrong, each with its exit code (contract 9.1).

A message never holds a value, a token or the text of a file: names, numbers and what to do next.
"""

from __future__ import annotations


class Failure(Exception):
    """The command could not do what was asked; `exit_code` 1 is anything that has no code of its own."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.status: int | None = None
        self.code: str | None = None
        self.request_id: str | None = None
        self.issues: list[tuple[str, str]] = []


class WrongUse(Failure):
    """Arguments, settings or a file of the user's that say nothing sensible."""

    exit_code = 2


class Unreachable(Failure):
    """No answer, half an answer, or one of 5xx: the only failure that a fallback may stand in for."""

    exit_code = 3


class Refused(Failure):
    """401, 403, 404, 429, or a certificate that does not fit."""

    exit_code = 4


class Conflict(Failure):
    """409 and 412."""

    exit_code = 5


class Invalid(Failure):
    """400, 413 and 422."""

    exit_code = 6


def failure_of(status: int) -> type[Failure]:
    """The class of an answer that is no success."""
    if status >= 500:
        return Unreachable
    kinds: dict[int, type[Failure]] = {409: Conflict, 412: Conflict}
    kinds.update(dict.fromkeys((401, 403, 404, 429), Refused))
    kinds.update(dict.fromkeys((400, 413, 422), Invalid))
    return kinds.get(status, Failure)
