"""What the page of a refusal tells: what was needed, what is held and why, and whom to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from secretsvc.kernel.authorization import Role, ScopeType


@dataclass(frozen=True, slots=True)
class AdminContact:
    """Somebody who may grant what is missing, by name and subject, and the scope of that."""

    name: str
    subject: str
    scope: str


@dataclass(frozen=True, slots=True)
class DenialDetails:
    """A refusal at a scope that its caller sees.

    `whole` is the whole of it ("Web shop / Production"), `name` its own name, `path` that of its page.
    `held` is the caller's role there by a grant at `scope`, through `group` if it is one of a group's; None
    without a role.
    """

    whole: str
    name: str
    path: str
    needed: Role
    held: Role | None
    scope: ScopeType | None
    group: str | None
    admins: Sequence[AdminContact]
