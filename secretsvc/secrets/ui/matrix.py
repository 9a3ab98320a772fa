"""The matrix of a project: its keys against its environments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from secretsvc.kernel.authorization import Role, ScopePath, decide
from secretsvc.projects.resources import Project
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.secrets.domain import matrix as matrix_domain
from secretsvc.secrets.domain.matrix import MISSING, SET, Cell, KeyMatrix, MatrixRow
from secretsvc.secrets.domain.sidebar_project import find_sidebar_project
from secretsvc.secrets.queries.comparison import DIFFERS, SAME, UNREADABLE
from secretsvc.secrets.queries.default_environments import REHEARSAL, default_environment
from secretsvc.secrets.ui.selection import ticked
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.query import parse_query, with_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node
from secretsvc.web.views import VISIBLE

#: So many keys have their menus in the page; where there are more, a link draws the one of its row.
MENUS = 100
#: The filters, each with its label and what colours its number.
SHOWN = {
    "": ("All", ""),
    MISSING: ("Missing", "warn"),
    DIFFERS: ("Differs", ""),
    UNREADABLE: ("Unreadable", "bad"),
    SAME: ("Same", ""),
}
#: The class of a cell and its sign, by its state; the base has one of its own.
SIGNS = {
    SAME: ("same", "equal"),
    DIFFERS: ("diff", "equal-not"),
    SET: ("base", "check"),
    MISSING: ("gone", "circle-dashed"),
    UNREADABLE: ("bad", "circle-alert"),
}


class DrawnCell(NamedTuple):
    """A cell as it is drawn; `href` is None where it leads nowhere, `more` is for those who listen."""

    kind: str
    href: str | None
    title: str
    name: str
    icon: str
    text: str
    more: str


class DrawnRow(NamedTuple):
    """A key with its cells; `prefix` is that of its group, `rest` what follows, `path` its own page."""

    key: str
    prefix: str
    rest: str
    path: str
    has_menu: bool
    cells: list[DrawnCell]


class KeyGroup(NamedTuple):
    """Keys of one prefix; `name` is None for the rows of a table without groups."""

    name: str | None
    prefix: str
    missing: int
    rows: list[DrawnRow]


@dataclass(frozen=True, slots=True)
class Column:
    """An environment with what its cells need; `missing` is how many keys of the others it lacks.

    `base` is the name of what it is compared with.
    """

    environment: EnvironmentRow
    path: str
    writes: bool
    keys: int
    missing: int
    base: str

    def cell(self, key: str, cell: Cell) -> DrawnCell:
        """A cell of it."""
        name, (kind, icon) = self.environment.name, SIGNS[cell.state]
        if cell.state == MISSING:
            title = f"{key} is not set in {name}"
            if not self.writes:
                return DrawnCell(kind, None, title, name, icon, "missing", "")
            adding = f"{self.path}?new={key}#new"
            return DrawnCell(kind, adding, f"{title}: add it", name, icon, "missing", "")
        href = f"{self.path}/secrets/{key}"
        if cell.state == UNREADABLE:
            return DrawnCell(kind, href, f"{key} cannot be read in {name}", name, icon, "unreadable", "")
        says = {SAME: f"same as {self.base}", DIFFERS: f"differs from {self.base}", SET: "set"}[cell.state]
        title = f"{key} in {name}: {says}, version {cell.version}"
        return DrawnCell(kind, href, title, name, icon, f"v{cell.version}", f", {says}")


@dataclass(frozen=True, slots=True)
class Dock:
    """Between which environments the selected keys can be copied, and which of them are chosen at first."""

    sources: Sequence[EnvironmentRow]
    targets: Sequence[EnvironmentRow]
    source: EnvironmentRow | None
    target: EnvironmentRow | None


def matrix(context: Project, request: ServiceRequest) -> object:
    """Keys against environments; `q`, `show`, `with`, `group` and `menu` say which, and how."""
    query = parse_query(request.environ)
    text, show = query.get("q", ""), query.get("show", "")
    show = show if show in SHOWN else ""
    found = matrix_domain.key_matrix(request.call, context.address, text, query.get("with"))
    columns = _columns(context, request, found)
    rows = [row for row in found.rows if not show or show in kinds_of(row)]
    # The form of the filters names the groups where they are wanted, and always the text.
    is_grouped = "group" in query or "q" not in query
    opened = {row.key for row in rows} if len(rows) <= MENUS else {query.get("menu")}
    targets = adding(columns)
    return {
        "matrix": found,
        "project": found.sight.project,
        "base": found.base,
        "change": found.sight.last_change,
        "columns": columns,
        "has_several": len(columns) > 1,
        "is_writable": bool(targets),
        "menu": query.get("menu"),
        "groups": _groups(rows, columns, opened, is_grouped=is_grouped),
        "is_grouped": is_grouped,
        "text": text,
        "ticked": {*ticked(request.form)},
        "segments": _segments(found, show, context.path(PAGES), query),
        "adding": targets,
        "dock": selection_bar(found, [one.environment for one in columns if one.writes], request.form),
    }


def adding(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that the caller can add keys to, protected environments last."""
    writable = [one for one in columns if one.writes]
    return sorted(writable, key=lambda one: one.environment.protected)


def kinds_of(row: MatrixRow) -> set[str]:
    """The filters that show a row; it is the same where nothing is missing, differs or cannot be read."""
    return row.states - {SAME, SET} or {SAME}


def selection_bar(found: KeyMatrix, targets: Sequence[EnvironmentRow], form: Form) -> Dock:
    """From the rehearsal to what is compared with, as far as the caller may write there."""
    sources, base = found.sight.environments, found.base
    target = default_environment(targets, form["to"] or (base.slug if base else None))
    chosen = {one.slug: one for one in sources}.get(form["from"])
    source = chosen or default_environment(sources, REHEARSAL, other_than=target.slug if target else None)
    return Dock(sources, targets, source, target)


def may_write(context: Node, request: ServiceRequest, slug: str) -> bool:
    """Whether the caller may write to an environment of the project."""
    held = decide(request.call.snapshot, ScopePath(context.address.project, slug))
    return held is not None and held.implies(Role.WRITER)


def _segments(
    found: KeyMatrix, show: str, path: str, query: Mapping[str, str]
) -> list[tuple[str, str, int, bool, str]]:
    """The filters, as the macro of segments takes them."""
    counts = Counter(kind for row in found.rows for kind in kinds_of(row))
    counts[""] = len(found.rows)
    names = [name for name in SHOWN if found.base is not None or name not in (SAME, DIFFERS)]
    return [
        (
            SHOWN[name][0],
            with_query(path, query, show=name or None, menu=None),
            counts[name],
            show == name,
            SHOWN[name][1] if counts[name] else "",
        )
        for name in names
    ]


def _columns(context: Project, request: ServiceRequest, found: KeyMatrix) -> list[Column]:
    path, base = f"{context.path(PAGES)}/environments", found.base.name if found.base else ""
    return [
        Column(
            one, f"{path}/{one.slug}", may_write(context, request, one.slug), keys, found.total - keys, base
        )
        for one, keys in zip(found.environments, found.keys, strict=True)
    ]


def _groups(
    rows: Sequence[MatrixRow], columns: Sequence[Column], opened: Collection[str | None], *, is_grouped: bool
) -> list[KeyGroup]:
    """The keys of each prefix that two have, then the others; or all in one group without a name."""
    by_prefix: dict[str, list[MatrixRow]] = defaultdict(list)
    for row in rows:
        prefix, line, _ = row.key.partition("_")
        by_prefix[prefix + line if is_grouped and prefix and line else ""].append(row)
    alone = [row for prefix, inside in by_prefix.items() if len(inside) == 1 or not prefix for row in inside]
    groups = {prefix: inside for prefix, inside in by_prefix.items() if len(inside) > 1 and prefix}
    other = "Other keys" if groups else None
    drawn = [_group(prefix, prefix, inside, columns, opened) for prefix, inside in groups.items()]
    return drawn + (
        [_group(other, "", sorted(alone, key=attrgetter("key")), columns, opened)] if alone else []
    )


def _group(
    name: str | None,
    prefix: str,
    rows: Sequence[MatrixRow],
    columns: Sequence[Column],
    opened: Collection[str | None],
) -> KeyGroup:
    missing = sum(MISSING in row.states for row in rows)
    return KeyGroup(name, prefix, missing, [_row(row, prefix, columns, row.key in opened) for row in rows])


def _row(row: MatrixRow, prefix: str, columns: Sequence[Column], has_menu: bool) -> DrawnRow:
    cells = [column.cell(row.key, cell) for column, cell in zip(columns, row.cells, strict=True)]
    there = [column for column, cell in zip(columns, row.cells, strict=True) if cell.state != MISSING]
    # Its page in the environment that the others are compared with, or in the first that has it.
    home = next((column for column in there if column.environment.name == column.base), there[0])
    return DrawnRow(
        row.key, prefix, row.key[len(prefix) :], f"{home.path}/secrets/{row.key}", has_menu, cells
    )


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page, and how the shell finds the project of each page."""
    config.set_sidebar_project(find_sidebar_project)
    config.add_page(matrix, context=Project, role=VISIBLE, template="secretsvc.secrets:templates/matrix.pt")
    config.add_tab("All keys", context=Project, role=VISIBLE, order=10, icon="grid-3x3")
