"""The errors that a caller can meet; each is one row of the specification's error table.

Nothing here knows HTTP: `web.errors` gives a code its status, in one place.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from math import ceil
from typing import ClassVar, NamedTuple

#: The number of issues that an answer names; one more says how many it leaves out (contract 17.3).
MAX_ISSUES = 100
#: The number of issues after which reading stops: a megabyte of unusable input takes seconds.
MAX_COUNTED_ISSUES = 10_000


class Issue(NamedTuple):
    """One rejected part of a request: its dotted path and why, never the rejected input."""

    path: str
    message: str


class SecretsvcError(Exception):
    """An answer other than success. `message` and `hint` reach the client as they are.

    `named` are the first `MAX_ISSUES` of the issues; the others are only counted, as are those that the
    caller has counted as `left_out`, which are `at_least` so many where it stopped counting.
    `about` is the path of what is at fault where there are no issues: pages lead to its field.
    """

    code: ClassVar[str]
    default_message: ClassVar[str]
    default_hint: ClassVar[str | None] = None

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        issues: Iterable[Issue] = (),
        left_out: int = 0,
        at_least: bool = False,
        about: str | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.hint = hint or self.default_hint
        every = iter(issues)
        self.named = tuple(islice(every, MAX_ISSUES))
        self.left_out, self.at_least = left_out + sum(1 for _ in every), at_least
        self.about = about
        super().__init__(self.message)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What an answer says of each issue: those that are named, then the number of the others."""
        if not self.left_out:
            return self.named
        least = "At least " if self.at_least else ""
        verb = "is" if self.left_out == 1 else "are"
        return *self.named, Issue("", f"{least}{self.left_out:,} more {verb} left out.")

    def and_also(self, more: Iterable[Issue]) -> ValidationFailed:
        """A refusal for these issues and for more."""
        return ValidationFailed(
            issues=chain(self.named, more), left_out=self.left_out, at_least=self.at_least
        )


class BadRequest(SecretsvcError):
    """A malformed request, or a precondition that this API cannot express."""

    code = "BAD_REQUEST"
    default_message = "The request is malformed."


class Unauthenticated(SecretsvcError):
    """No valid assertion. Always the same body: it never says what was wrong with a token."""

    code = "UNAUTHENTICATED"
    default_message = "A valid access assertion is required."


class Forbidden(SecretsvcError):
    """The caller can see the thing, but no grant covers the operation."""

    code = "FORBIDDEN"
    default_message = "Your grants do not allow this."


class FormTooOld(Forbidden):
    """The caller's own form, of a page that was open for too long; it is not carried out."""

    default_message = "This page was open for longer than two days."
    default_hint = "Check what you typed and send it again."


class NotFound(SecretsvcError):
    """Absent or invisible; the message names the kind of thing, never the identifier."""

    code = "NOT_FOUND"
    default_message = "Not found."


class Conflict(SecretsvcError):
    """A uniqueness violation."""

    code = "CONFLICT"
    default_message = "It exists already."


class AddressTaken(Conflict):
    """Something has that slug already."""

    default_message = "The address is taken."

    def __init__(self) -> None:
        super().__init__(about="slug")


class VersionConflict(SecretsvcError):
    """Lost the race for a version number twice."""

    code = "VERSION_CONFLICT"
    default_message = "Another write got there first, twice."
    default_hint = "Read the environment again and retry."


class LastAdmin(SecretsvcError):
    """Refusing to remove the last usable global administrator."""

    code = "LAST_ADMIN"
    default_message = "This would remove the last usable global administrator."


class PreconditionFailed(SecretsvcError):
    """`If-Match` or `expected_rev` did not match; nothing was changed."""

    code = "PRECONDITION_FAILED"
    default_message = "The environment is not at the expected revision."
    default_hint = "Read the environment again and decide on its present state."


class PayloadTooLarge(SecretsvcError):
    """Over a configured byte or count limit."""

    code = "PAYLOAD_TOO_LARGE"
    default_message = "The request is over a configured limit."


class ValidationFailed(SecretsvcError):
    """A schema rejected the request; `issues` say where."""

    code = "VALIDATION_FAILED"
    default_message = "The request does not match its schema."

    @classmethod
    def at(cls, path: str, message: str) -> ValidationFailed:
        """One issue at `path`."""
        return cls(issues=(Issue(path, message),))


def refuse(issues: Iterable[Issue]) -> None:
    """Pass if there are none. Raises `ValidationFailed` with all of them."""
    every = iter(issues)
    first = next(every, None)
    if first is not None:
        raise ValidationFailed(issues=chain((first,), every))


class RateLimited(SecretsvcError):
    """Slow down; `retry_after` is in seconds, `setting` the limit that an operator can raise."""

    code = "RATE_LIMITED"
    default_message = "Too many requests."

    def __init__(self, retry_after: int, message: str | None = None, *, setting: str | None = None) -> None:
        wait = f"Try again in {_in_words(retry_after)}"
        super().__init__(message, hint=setting and f"{wait}, or ask the operator to raise {setting}.")
        self.retry_after = retry_after


def _in_words(seconds: int) -> str:
    """Seconds, rounded up to minutes or hours where they are many."""
    for unit, length in (("hours", 3_600), ("minutes", 60)):
        if seconds > 2 * length:
            return f"{ceil(seconds / length)} {unit}"
    return f"{seconds} seconds"


class Internal(SecretsvcError):
    """An unrecognised failure: a constant message and no original text."""

    code = "INTERNAL"
    default_message = "An unexpected error occurred."


class DecryptFailed(SecretsvcError):
    """Authenticated decryption failed."""

    code = "DECRYPT_FAILED"
    default_message = "A stored value could not be decrypted."

    def __init__(self, kid: str | None = None) -> None:
        super().__init__()
        self.kid = kid


class UnknownKid(SecretsvcError):
    """An envelope names a master key that the ring does not hold. Kids reveal nothing of their keys."""

    code = "UNKNOWN_KID"
    default_message = "The envelope names a master key that the ring does not hold."

    def __init__(self, wanted: str, held: tuple[str, ...]) -> None:
        super().__init__(
            f"The envelope names master key {wanted}; the ring holds {', '.join(held) or 'none'}."
        )
        self.kid = wanted


class ServerMisconfigured(SecretsvcError):
    """A configuration error; retrying cannot help."""

    code = "SERVER_MISCONFIGURED"
    default_message = "The service is not configured correctly."
    default_hint = "The service's log names the setting."


class NotSupported(SecretsvcError):
    """The server knows what is asked for, and does not do it."""

    code = "NOT_IMPLEMENTED"
    default_message = "The request asks for a transfer coding that is not supported."


class NoAdminsConfigured(SecretsvcError):
    """Neither `BOOTSTRAP_ADMINS` nor a usable global admin grant exists."""

    code = "NO_ADMINS_CONFIGURED"
    default_message = "No administrator is configured."
    default_hint = "Set BOOTSTRAP_ADMINS to the e-mail address of a first administrator."


class IdentityProviderUnavailable(SecretsvcError):
    """The access proxy's keys cannot be had; retrying may succeed, after `retry_after` whole seconds."""

    code = "IDENTITY_PROVIDER_UNAVAILABLE"
    default_message = "The access proxy's keys are unavailable at the moment."

    def __init__(self, rest: float = 0.0) -> None:
        """`rest` is how many seconds nobody asks for the keys."""
        super().__init__()
        self.retry_after = max(1, ceil(rest))


class Unavailable(SecretsvcError):
    """The process is at its bound of work under way, or lacks its database; `retry_after` is in seconds.

    Contract 8.1.
    """

    code = "UNAVAILABLE"
    default_message = "The service has as much under way as it can hold."

    def __init__(self, retry_after: int, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
