"""The roles of somebody as a map: a row for each project, a column for each environment's slug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from secretsvc.access.domain.role_map import RoleMap
from secretsvc.access.rules.grant_names import Reached
from secretsvc.access.rules.grants import SOON_MS
from secretsvc.access.rules.role_sources import RoleSource
from secretsvc.access.ui.access_table import Explaining, Reason, source_text
from secretsvc.kernel.authorization import GLOBAL, Role, ScopePath
from secretsvc.web.pages.time_format import relative

#: How many columns there are; further environments stand in words beside.
COLUMNS = 5


class RoleCell(NamedTuple):
    """A role and what it comes from; `exists` is whether the project has such an environment."""

    exists: bool
    role: Role | None
    source: str


@dataclass(frozen=True, slots=True)
class MapRow:
    """A project with its cells, and the roles in environments that have no column, in words."""

    project: Reached
    about: str
    cells: list[RoleCell]
    others: list[str]


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation of one project's roles."""

    project: Reached
    reasons: list[Reason]
    lacking: list[str]


@dataclass(frozen=True, slots=True)
class MapTable:
    """The map; `columns` are pairs of a slug and a label; `others` counts projects without a role."""

    columns: list[tuple[str, str]]
    rows: list[MapRow]
    others: int
    everywhere: RoleCell
    why: Why | None

    @property
    def everywhere_through(self) -> str:
        """What a role everywhere comes from."""
        return self.everywhere.source.removeprefix("everywhere, ")


def map_table(found: RoleMap, now: int, asked: str | None) -> MapTable:
    """The map of what was found; `asked` is the slug of the project that is to be explained."""
    holding = found.holding
    shown = [one for one in found.projects if any(holding.role_at(at) for at in _names(one))]
    columns = _columns(shown)
    everywhere = holding.decisive(GLOBAL)
    explained = next((one for one in found.projects if one.slug == asked), None)
    return MapTable(
        columns,
        [_row(found, one, [slug for slug, _ in columns], now) for one in shown],
        len(found.projects) - len(shown),
        _cell(found, everywhere, now),
        _why(found, explained) if explained else None,
    )


def _columns(projects: Sequence[Reached]) -> list[tuple[str, str]]:
    """The commonest environments, in the order in which they come."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for one in projects:
        for environment in one.environments:
            names.setdefault(environment.slug, environment.name)
            counts[environment.slug] = counts.get(environment.slug, 0) + 1
    common = sorted(names, key=lambda slug: -counts[slug])[:COLUMNS]
    return [(slug, name) for slug, name in names.items() if slug in common]


def _row(found: RoleMap, project: Reached, columns: Sequence[str], now: int) -> MapRow:
    cells = {
        one.slug: _cell(found, found.holding.decisive(ScopePath(project.slug, one.slug)), now)
        for one in project.environments
    }
    missing = RoleCell(False, None, "")
    return MapRow(
        project,
        _about([cell.role for cell in cells.values()]),
        [cells.get(slug, missing) for slug in columns],
        [
            f"{one.name}: {cells[one.slug].role}"
            for one in project.environments
            if one.slug not in columns and cells[one.slug].role
        ],
    )


def _about(roles: Sequence[Role | None]) -> str:
    held = sum(role is not None for role in roles)
    if not roles:
        return "no environment yet"
    if held == len(roles) and held > 1:
        return f"all {held} environments"
    return f"{held} of {len(roles)} {'environment' if len(roles) == 1 else 'environments'}"


def _cell(found: RoleMap, way: RoleSource | None, now: int) -> RoleCell:
    if way is None:
        return RoleCell(True, None, "")
    ends, source = way.held.expires_at, source_text(found.holding, way)
    if ends is not None and ends < now + SOON_MS:
        source += f", {relative(ends, now).removeprefix('in ')}"
    return RoleCell(True, way.held.role, source)


def _why(found: RoleMap, project: Reached) -> Why:
    explained = Explaining(found.holding, _names(project))
    return Why(project, explained.reasons(), [] if found.holding.disabled else explained.lacking)


def _names(project: Reached) -> dict[ScopePath, str]:
    """The addresses in a project, the project itself where it has none."""
    names = {ScopePath(project.slug, one.slug): one.name for one in project.environments}
    return names or {ScopePath(project.slug): project.name}
