"""What of the tables' rows a replay follows, as it is kept in a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

T = TypeVar("T")
#: A digest that the record of an earlier release does not have.
UNTOLD = "?"


class IdentityState(NamedTuple):
    """Who may be granted something."""

    kind: str
    subject: str
    disabled: bool


class GrantState(NamedTuple):
    """A role at a scope; ids as text, `expires_at` in epoch milliseconds."""

    identity_id: str | None
    group_id: str | None
    scope_type: str
    project_id: str | None
    environment_id: str | None
    role: str
    expires_at: int | None


class EnvironmentState(NamedTuple):
    """An environment of a project, at its present revision."""

    project_id: str
    slug: str
    protected: bool
    rev: int


class SecretState(NamedTuple):
    """A key's current version.

    The description is there by its digest under the key that `kid` names, None where there is none.
    """

    version: int
    deleted: bool
    kid: str | None = None
    digest: str | None = None


class RevisionState(NamedTuple):
    """What a write left of itself; the reason is there by its digest, times in epoch milliseconds."""

    action: str | None
    reason: str | None
    created_at: int
    created_by: str | None
    record_id: str | None
    copied_from: str | None


class VersionState(NamedTuple):
    """One version of a key; the origin is there by its digest, or `UNTOLD`."""

    rev: int
    deleted: bool
    origin: str | None = None


class TokenState(NamedTuple):
    """A service token; the stored digest is there by a digest of its own, or `UNTOLD`."""

    identity_id: str
    name: str
    prefix: str
    created_at: int
    created_by: str | None
    expires_at: int
    digest: str


class Tally(NamedTuple):
    """How often an identity was denied at a scope; times in epoch milliseconds."""

    denials: int
    first_denied_at: int
    last_denied_at: int


def lists(found: Mapping[str, tuple[object, ...]]) -> dict[str, object]:
    """As JSON has them."""
    return {name: [*one] for name, one in found.items()}


def tuples(kind: Callable[..., T], found: Mapping[str, Iterable[object]]) -> dict[str, T]:
    """The other way round."""
    return {name: kind(*one) for name, one in found.items()}
