"""Failures, each with its exit code (contracts 9.1 and 16.8).

A message never holds a value, a token or the text of a file: names, numbers and what to do next.
"""

from __future__ import annotations


class Failure(Exception):
    """The command could not do what was asked; `exit_code` 1 is anything that has no code of its own."""

    exit_code = 1
    #: The exit code under `run`, whose other codes are the command's own.
    run_code = 125

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.status: int | None = None
        #: Whether the service itself gave that status, and not a proxy in front of it.
        self.is_own = False
        #: Seconds after which the request can be repeated, by the answer.
        self.retry_after: int | None = None
        self.code: str | None = None
        self.request_id: str | None = None
        self.issues: list[tuple[str, str]] = []


class WrongUse(Failure):
    """Arguments, settings or a file of the user's that say nothing sensible."""

    exit_code = 2


class Unreachable(Failure):
    """No answer, half an answer, a 5xx, or a foreign 4xx: the only failure that a fallback replaces.

    A 401 or 403 is never one, for something in front of the service may have ended the access.
    """

    exit_code = 3


class Refused(Failure):
    """401, 403, 404, 429, or a certificate that does not fit."""

    exit_code = 4


class NotStarted(Failure):
    """The command of `run` was found and cannot be executed."""

    run_code = 126


class NotFound(WrongUse):
    """The command of `run` was not found."""

    run_code = 127


class Conflict(Failure):
    """409 and 412."""

    exit_code = 5


class Invalid(Failure):
    """400, 413 and 422."""

    exit_code = 6


def failure_of(status: int, *, is_own: bool) -> type[Failure]:
    """Return the class of an answer that is no success, of the service's own or of something else."""
    if status >= 500 or (not is_own and status >= 400 and status not in (401, 403)):
        return Unreachable
    kinds: dict[int, type[Failure]] = {409: Conflict, 412: Conflict}
    kinds.update(dict.fromkeys((401, 403, 404, 429), Refused))
    kinds.update(dict.fromkeys((400, 413, 422), Invalid))
    return kinds.get(status, Failure)
