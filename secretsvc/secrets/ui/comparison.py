"""Two environments of a project side by side: what is the same, what differs, and what one of them lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from secretsvc.projects.resources import Project
from secretsvc.secrets.domain import matrix as matrix_domain
from secretsvc.secrets.domain.matrix import MISSING, Cell, KeyMatrix
from secretsvc.secrets.queries.comparison import DIFFERS, HERE, SAME, THERE, UNREADABLE
from secretsvc.secrets.schemas import history as schemas
from secretsvc.secrets.ui.matrix import may_write
from secretsvc.secrets.ui.selection import compare_path, named_keys, ticked
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import redirect_after_form
from secretsvc.web.query import parse_query, with_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import VISIBLE

ALL, UNLIKE = "all", ""
#: In this order the rows stand.
ORDER = (HERE, THERE, DIFFERS, UNREADABLE, SAME)
#: The class, the icon and the text of one side's cell; a cell with a value has neither icon nor text.
Sign = tuple[str, str | None, str | None]
SIDES: dict[str, Sign] = {
    MISSING: ("gone", "circle-dashed", "missing"),
    UNREADABLE: ("bad", "circle-alert", "unreadable"),
}
WITH_VALUE: Sign = ("", None, None)


class ComparedRow(NamedTuple):
    """A key of either side; it `copies` where the second can be given the first's value.

    `path` is its page on the first side that has it, `result` the class, icon and text of what was found.
    """

    key: str
    kind: str
    here: Cell
    there: Cell
    copies: bool
    ticked: bool
    path: str
    result: Sign

    @property
    def here_sign(self) -> Sign:
        """The sign of the first side."""
        return SIDES.get(self.here.state, WITH_VALUE)

    @property
    def there_sign(self) -> Sign:
        """The sign of the second side."""
        return SIDES.get(self.there.state, WITH_VALUE)


def compare(context: Project, request: ServiceRequest) -> object:
    """Two environments, `from` and `to`; `show` says which rows, `keys` which of them are ticked."""
    query = parse_query(request.environ)
    given = {name: query[name] for name in ("from", "to") if query.get(name)}
    sides = validate(schemas.SidesQuery(), given)
    here, there = sides.get("from"), sides.get("to")
    found = matrix_domain.compared_matrix(request.call, context.address, here=here, there=there)
    writes = found.base is not None and may_write(context, request, found.base.slug)
    show, keys = query.get("show", UNLIKE), named_keys(query.get("keys", ""))
    has_pair = len(found.environments) == 2
    rows = _rows(context, found, keys, writes=writes) if has_pair else []
    return {
        "environments": found.sight.environments,
        "here": found.environments[0] if found.environments else None,
        "there": found.base,
        "has_pair": has_pair,
        "has_several": len(found.sight.environments) > 1,
        "rows": [row for row in rows if passes_comparison_filter(row, show) or row.ticked],
        "total": len(rows),
        "segments": _segments(rows, found, show, f"{context.path(PAGES)}/compare", query),
        "writes": writes,
    }


def pick(context: Project, request: ServiceRequest) -> object:
    """Leads on to the comparison with the keys ticked that were ticked elsewhere."""
    form = request.form
    sides = {"from": form["from"], "to": form["to"]}
    return redirect_after_form(compare_path(context.path(PAGES), ticked(form), **sides))


def kind_of(here: Cell, there: Cell) -> str:
    """How a key of one side compares to that of the other (contract 5.3)."""
    if MISSING in (here.state, there.state):
        return THERE if here.state == MISSING else HERE
    return UNREADABLE if UNREADABLE in (here.state, there.state) else here.state


def passes_comparison_filter(row: ComparedRow, show: str) -> bool:
    """Whether a filter lets a row through."""
    return show == ALL or row.kind == show or (show == UNLIKE and row.kind != SAME)


def _rows(context: Project, found: KeyMatrix, keys: Collection[str], *, writes: bool) -> list[ComparedRow]:
    base = f"{context.path(PAGES)}/environments"
    results, rows = _results(found), []
    for row in found.rows:
        here, there = row.cells
        kind = kind_of(here, there)
        copies = writes and kind not in (SAME, THERE) and here.state != UNREADABLE
        side = found.environments[kind == THERE]
        path = f"{base}/{side.slug}/secrets/{row.key}"
        is_ticked = copies and row.key in keys
        rows.append(ComparedRow(row.key, kind, here, there, copies, is_ticked, path, results[kind]))
    return sorted(rows, key=lambda row: (not row.ticked, ORDER.index(row.kind), row.key))


def _results(found: KeyMatrix) -> dict[str, Sign]:
    here, there = (one.name for one in found.environments)
    return {
        HERE: ("", "arrow-right", f"only in {here}"),
        THERE: ("", "circle-dashed", f"only in {there}"),
        DIFFERS: ("diff", "equal-not", "differs"),
        SAME: ("", "equal", "same"),
        UNREADABLE: ("", "circle-alert", "cannot be compared"),
    }


def _segments(
    rows: Collection[ComparedRow], found: KeyMatrix, show: str, path: str, query: Mapping[str, str]
) -> list[tuple[str, str, int, bool, str]]:
    """The filters, as the macro of segments takes them."""
    counts = Counter(row.kind for row in rows)
    here, there = (one.name for one in (found.environments * 2)[:2]) if found.environments else ("", "")
    labels = [
        ("Not the same", UNLIKE, len(rows) - counts[SAME], ""),
        ("Differs", DIFFERS, counts[DIFFERS], ""),
        (f"Only in {here}", HERE, counts[HERE], "warn"),
        (f"Only in {there}", THERE, counts[THERE], "warn"),
        ("Unreadable", UNREADABLE, counts[UNREADABLE], "bad"),
        ("Same", SAME, counts[SAME], ""),
        ("All", ALL, len(rows), ""),
    ]
    return [
        (label, with_query(path, query, show=name or None), number, show == name, kind if number else "")
        for label, name, number, kind in labels
        if number or name != UNREADABLE
    ]


def includeme(config: ServiceConfigurator) -> None:
    template = "secretsvc.secrets:templates/compare.pt"
    config.add_page(compare, context=Project, name="compare", role=VISIBLE, template=template)
    config.add_form(pick, context=Project, name="compare", role=VISIBLE)
    config.add_tab(
        "Compare", context=Project, name="compare", role=VISIBLE, order=30, icon="git-compare-arrows"
    )
