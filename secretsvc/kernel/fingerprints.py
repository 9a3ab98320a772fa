"""What a form was drawn from, so that it does not undo what somebody else changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Protocol

from secretsvc.kernel.errors import NotFound, PreconditionFailed
from secretsvc.transparency.canonical_json import canonical

CHANGED = "Somebody else changed this while you were editing: nothing was written."
DECIDE = "What you typed is still here, beside what is there now. Saving again writes it over that."


class Editable(Protocol):
    """What people change by a form as a whole."""

    @property
    def fingerprint(self) -> str:
        """The same as long as all that the form changes is the same."""


class _Described(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str | None: ...


class ByDescription:
    """What has a name and a description, and a form that changes these alone."""

    __slots__ = ()

    @property
    def fingerprint(self: _Described) -> str:
        """Of these two."""
        return fingerprint([self.name, self.description])


def fingerprint(fields: Iterable[object]) -> str:
    """The fingerprint of texts, booleans and None."""
    return hashlib.sha256(canonical([*fields])).hexdigest()


def changes_left(found: Editable, changes: Mapping[str, object], seen: str | None) -> Mapping[str, object]:
    """The changes that are still to be made; `seen` is the fingerprint that a form was drawn from, else None.

    By a form, what is so already was sent twice, or somebody did the same: it is left out.
    Raises `PreconditionFailed` where something else was changed since.
    """
    if seen is None:
        return changes
    left = {name: value for name, value in changes.items() if getattr(found, name) != value}
    if left and seen != found.fingerprint:
        raise stale()
    return left


def stale() -> PreconditionFailed:
    """The refusal of a form that was drawn from another state."""
    return PreconditionFailed(CHANGED, hint=DECIDE)


def gone(message: str, seen: str | None) -> NotFound | PreconditionFailed:
    """Why a change met no row: it is not there, or by a form no longer as it was found."""
    return NotFound(message) if seen is None else stale()
