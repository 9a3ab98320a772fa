"""Which environments belong together where nobody says so: one is compared with, and copied to."""

from __future__ import annotations

from collections.abc import Sequence

from secretsvc.projects.rules import EnvironmentRow

#: By these names environments are known for what they are: the one that others are compared with, and copied
#: to, and the one that is copied from.
FINAL, REHEARSAL = "production", "staging"


def default_environment(
    environments: Sequence[EnvironmentRow], slug: str | None, *, other_than: str | None = None
) -> EnvironmentRow | None:
    """The environment of a slug, else the one called production, else the newest."""
    those = [one for one in environments if one.slug != other_than]
    return named(those, slug) or named(those, FINAL) or (those[-1] if those else None)


def named(environments: Sequence[EnvironmentRow], slug: str | None) -> EnvironmentRow | None:
    """The environment of a slug."""
    return next((one for one in environments if one.slug == slug), None)
