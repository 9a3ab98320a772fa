"""A project as the shell of the pages shows it beside each of the project's pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedScope:
    """A project or an environment by its slug and its name."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class ShellEnvironment:
    """An environment that the caller sees, with the number of its keys."""

    slug: str
    name: str
    protected: bool
    keys: int


@dataclass(frozen=True, slots=True)
class SidebarProject:
    """A project with the environments that the caller sees, oldest first, and some of the other projects.

    `keys` counts each key once, in however many environments it is; `holders` who holds a role there, None
    for whom the page of access is not.
    """

    slug: str
    name: str
    keys: int
    environments: Sequence[ShellEnvironment]
    others: Sequence[NamedScope]
    holders: int | None

    def environment(self, slug: str | None) -> ShellEnvironment | None:
        """One of the environments."""
        return next((one for one in self.environments if one.slug == slug), None)
