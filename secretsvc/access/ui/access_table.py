"""The table of a scope's access: what is shown of whom, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from secretsvc.access.rules.grants import SOON_MS
from secretsvc.access.rules.holders import GROUP
from secretsvc.access.rules.role_sources import HolderRoles, RoleSource
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import Role, ScopePath, ScopeType, decide, is_expired
from secretsvc.kernel.sidebar_project import ShellEnvironment, SidebarProject
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.query import with_query

#: How many rows stand on a page; the filter finds the others.
SHOWN = 200
KIND_LABELS = {Kind.USER.value: "person", Kind.SERVICE.value: "service token", GROUP: "group"}
KINDS = {"people": Kind.USER.value, "groups": GROUP, "service-tokens": Kind.SERVICE.value}
SEGMENTS = (
    ("", "All"),
    ("people", "People"),
    ("groups", "Groups"),
    ("service-tokens", "Service tokens"),
    ("ending-soon", "Ending soon"),
    ("ended", "Ended"),
)
SMALL = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


class Reason(NamedTuple):
    """A grant in an explanation: where it holds, and where it decides, "" if nowhere."""

    way: RoleSource
    where: str
    decides: str
    is_left: bool


class Own(NamedTuple):
    """A grant that the caller may change from here."""

    way: RoleSource
    where: str


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A holder with a role for each column; `ends` is when the first of the deciding grants ends."""

    holding: HolderRoles
    #: Whether the page explains the roles.
    is_explained: bool
    roles: list[Role | None]
    through: str
    ends: int | None
    own: list[Own]
    reasons: list[Reason]
    lacking: list[str]

    @property
    def path(self) -> str:
        """The path of the holder's own page."""
        folder = "groups" if self.holding.kind == GROUP else "identities"
        return f"/{folder}/{self.holding.id}"

    @property
    def detail(self) -> str:
        """What stands below the name: the number of members, the subject, or the kind."""
        who = self.holding
        if who.kind == GROUP:
            return f"group of {who.members}"
        return who.subject if who.name != who.subject else KIND_LABELS[who.kind]

    @property
    def note(self) -> str:
        """Why the holder cannot use the roles now, with a comma before it."""
        if self.holding.disabled:
            return ", disabled"
        return ", not signed in yet" if self.holding.announced else ""

    @property
    def change_elsewhere(self) -> str:
        """Where to change roles that cannot be changed from here."""
        if any(way.group for way in self.holding.ways):
            return "Comes through a group: change it there."
        return "Made above this project: change it under Grants."


class ShownAccess(NamedTuple):
    """The part of the table that a page shows: an environment, or all environments of a project.

    `columns` are what has a column, `hidden` is the number of rows that are left out.
    """

    name: str
    environment: ShellEnvironment | None
    columns: Sequence[ShellEnvironment | SidebarProject]
    rows: list[AccessRow]
    hidden: int


class Explaining:
    """Grants of somebody at some addresses that have names."""

    def __init__(self, holding: HolderRoles, names: Mapping[ScopePath, str]) -> None:
        self.holding, self.names = holding, names
        self.deciding = {at: holding.decisive(at) for at in names}

    @property
    def roles(self) -> list[Role | None]:
        """The effective role at each address."""
        return [way.held.role if way else None for way in self.deciding.values()]

    @property
    def ends(self) -> int | None:
        """When the first of the grants that decide anything ends."""
        ends = [way.held.expires_at for way in self.deciding.values() if way]
        return min((end for end in ends if end is not None), default=None)

    @property
    def through(self) -> str:
        """What the roles come from, directly first."""
        ways = sorted((way for way in self.deciding.values() if way), key=lambda way: way.group is not None)
        return " and ".join(dict.fromkeys(source_text(self.holding, way) for way in ways))

    @property
    def lacking(self) -> list[str]:
        """Where no grant lets them write."""
        ways = self.deciding.items()
        return [self.names[at] for at, way in ways if way is None or way.held.role is Role.READER]

    def reasons(self) -> list[Reason]:
        """The grants, those that decide first, then the stronger ones."""
        deciding = [way for way in self.deciding.values() if way]
        # One that reaches nothing of what is named here holds elsewhere, where the caller may see nothing.
        here = [way for way in self.holding.ways if any(way.held.covers(at) for at in self.names)]
        ways = sorted(here, key=lambda way: (way not in deciding, -way.held.role.rank))
        weaker = next((way for way in ways if way not in deciding), None)
        left = weaker if self.ends is not None else None
        return [Reason(way, self.where(way), self._decides(way), way is left) for way in ways]

    def where(self, way: RoleSource) -> str:
        """Where a grant holds, in words."""
        held = way.held
        if held.scope_type is ScopeType.GLOBAL:
            return "everywhere"
        if held.scope_type is ScopeType.PROJECT:
            return "in the whole project"
        return f"in {self.names.get(ScopePath(held.project, held.environment), held.environment)}"

    def _decides(self, way: RoleSource) -> str:
        names = [self.names[at] for at, decides in self.deciding.items() if decides is way]
        with_role = [one for one in self.deciding.values() if one]
        if not names or len(names) == len(with_role):
            return "decides" if names else ""
        return f"decides in {', '.join(names) if len(names) < 3 else len(names)}"


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The table of a scope, filtered by the address of the page."""

    call: UseCaseContext
    at: ScopePath
    holdings: Sequence[HolderRoles]
    query: Mapping[str, str]

    def __post_init__(self) -> None:
        # What holds no more is told only to whom the grants of its scope are told.
        for one in self.holdings:
            one.ended[:] = filter(self._administers, one.ended)

    @property
    def ending(self) -> str:
        """How many roles end this week, in words."""
        number = sum(map(self._ends_soon, self.holdings))
        if not number:
            return ""
        words = SMALL[number] if number < len(SMALL) else f"{number:,}"
        return f"{words} {'role ends' if number == 1 else 'roles end'} this week."

    @property
    def shows_ended(self) -> bool:
        """Whether it lists what holds no more."""
        return self.query.get("show") == "ended"

    def segments(self, path: str) -> list[tuple[str, str, int, bool, str]]:
        """The filters of the page at `path`, as the macro of segments takes them."""
        chosen = self.query.get("show", "")
        kinds = {"ending-soon": "warn"}
        return [
            (
                label,
                with_query(path, self.query, show=value or None, why=None, remove=None),
                len(self._of(value)),
                value == chosen,
                kinds.get(value, ""),
            )
            for value, label in SEGMENTS
        ]

    def shown(self, project: SidebarProject) -> ShownAccess:
        """What the page shows of the project or of its environment."""
        here = project.environment(self.at.environment)
        environments = [here] if here else project.environments
        rows = self.rows(environments)
        name = here.name if here else project.name
        return ShownAccess(name, here, environments or [project], rows[:SHOWN], max(len(rows) - SHOWN, 0))

    def rows(self, environments: Sequence[ShellEnvironment]) -> list[AccessRow]:
        """What is shown, with a role for each of the environments."""
        names = {ScopePath(self.at.project, one.slug): one.name for one in environments}
        found = self._of(self.query.get("show", ""))
        text, reach = self.query.get("q", "").casefold(), self.query.get("env", "")
        if text:
            found = [one for one in found if text in f"{one.name}\n{one.subject}".casefold()]
        if reach:
            found = [one for one in found if one.role_at(ScopePath(self.at.project, reach))]
        return [self._row(one, names) for one in found]

    def _row(self, holding: HolderRoles, names: Mapping[ScopePath, str]) -> AccessRow:
        explained = Explaining(holding, names or {ScopePath(self.at.project): "the project"})
        is_asked = self.query.get("why") == str(holding.id)
        reasons = explained.reasons() if is_asked else []
        lacking = explained.lacking if is_asked and not holding.disabled else []
        ways = holding.ended if self.shows_ended else [*holding.ways, *holding.ended]
        own = [Own(way, explained.where(way)) for way in ways if self._may_change(way)]
        if self.shows_ended:
            roles = [holding.formerly(at) for at in names]
            ends = max((way.held.expires_at or 0 for way in holding.ended), default=None)
            return AccessRow(holding, is_asked, roles, "directly", ends, own, reasons, [])
        roles, through, ends = explained.roles, explained.through, explained.ends
        return AccessRow(holding, is_asked, roles, through, ends, own, reasons, lacking)

    def changeable(self, grant_id: str) -> tuple[HolderRoles, RoleSource] | None:
        """A grant that the caller may change from here, with its holder, by the text of its id."""
        for one in self.holdings:
            for way in (*one.ways, *one.ended):
                if str(way.held.grant_id) == grant_id and self._may_change(way):
                    return one, way
        return None

    def is_over(self, way: RoleSource) -> bool:
        """Whether a grant has ended."""
        return is_expired(way.held.expires_at, self.call.now)

    def _may_change(self, way: RoleSource) -> bool:
        held = way.held
        if way.group is not None or held.grant_id is None or held.scope_type is ScopeType.GLOBAL:
            return False
        return self._administers(way)

    def _administers(self, way: RoleSource) -> bool:
        return decide(self.call.snapshot, ScopePath(way.held.project, way.held.environment)) is Role.ADMIN

    def _of(self, segment: str) -> list[HolderRoles]:
        if segment == "ended":
            return [one for one in self.holdings if one.ended]
        in_force = [one for one in self.holdings if one.ways]
        if segment == "ending-soon":
            return [one for one in in_force if self._ends_soon(one)]
        return [one for one in in_force if one.kind == KINDS[segment]] if segment in KINDS else in_force

    def _ends_soon(self, holding: HolderRoles) -> bool:
        return holding.ending_before(self.call.now + SOON_MS)


def source_text(holding: HolderRoles, way: RoleSource) -> str:
    """What a role comes from, in words."""
    if way.group is not None:
        return way.group.name
    if way.held.scope_type is not ScopeType.GLOBAL:
        return "directly"
    if way.held.grant_id is None:
        return "everywhere, named in BOOTSTRAP_ADMINS"
    return "everywhere" if holding.kind == GROUP else "everywhere, directly"
